"""A lake with a few files, and a checkout of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import lochan
from lochan.api.blocking import Branch, Lake
from tests.unit.cli.invoke import lochan as command

FIRST = {"a.txt": b"one\n", "empty": b"", "raw/b.csv": b"1,pear\n", "raw/deep/c.bin": bytes(range(256)) * 2_000}


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    assert command("init", str(tmp_path / "lake")).exit_code == 0
    with lochan.connect(str(tmp_path / "lake")) as opened:
        yield opened


@pytest.fixture
def main(lake: Lake) -> Branch:
    branch = lake.create_repository("demo").branch("main")
    for path, body in FIRST.items():
        branch.put(path, body)
    branch.commit("first")
    return branch


@pytest.fixture
def folder(main: Branch, tmp_path: Path) -> Path:
    main.checkout(tmp_path / "out")
    return tmp_path / "out"
