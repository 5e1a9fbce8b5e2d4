"""Journals that tasks of Spark have checked lead to the same derived files, and damage is named all the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import lochan
from lochan.engines.spark import session
from lochan.errors import Corrupt
from lochan.lake import Lake as EngineLake
from lochan.store.local import LocalStore
from tests.run import run
from tests.spark.local_spark import LEFT_SOCKETS
from tests.unit.recovery.history import ANN, committed, written

pytestmark = LEFT_SOCKETS


@pytest.fixture(scope="module", autouse=True)
def spark() -> Iterator[None]:
    yield
    session.stop()


async def _write(folder: Path) -> None:
    lake = await EngineLake.create(LocalStore(str(folder), create=True))
    await lake.create_repository("demo", actor=ANN)
    files = await lake.open_repository("demo")
    for number in range(560):
        await written(files, "main", f"p/{number}", str(number))
        if number % 100 == 99:
            await committed(files, "main", str(number))
    await files.journal.trim()
    await files.close()
    await lake.close()


def test_spark_checks_a_journal(tmp_path: Path) -> None:
    run(_write(tmp_path / "lake"))
    segments = sorted((tmp_path / "lake").glob("*/journal/seg/*"))
    assert len(segments) >= 2
    with lochan.connect(tmp_path / "lake") as lake:
        here = lake.rebuild(["demo"], check=True)
        there = lake.rebuild(["demo"], check=True, engine="spark", master="local[2]")
        assert there == here
        assert there.is_whole
        assert there.parts[0].same > 10
        segments[1].write_bytes(segments[1].read_bytes()[:-1])
        with pytest.raises(Corrupt, match=r"cut short|fails its checksum"):
            lake.rebuild(["demo"], check=True, engine="spark", master="local[2]")
