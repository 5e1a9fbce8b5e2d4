"""Streams into a pool, as far as they are refused before Spark or a broker is asked."""

from __future__ import annotations

import asyncio
import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest

import lochan
from lochan.api.streams import FolderSource, RateSource, SocketSource, StreamOptions
from lochan.errors import Invalid, NotFound, Refused
from lochan.lake import Lake as OpenLake
from lochan.store.local import LocalStore

RATE = RateSource(rows_per_second=1)
RATE_CHECKPOINT = "rate-c549779d79e5c8e9"  # stored on disk


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[lochan.Lake]:
    async def made() -> None:
        await (await OpenLake.create(LocalStore(str(tmp_path / "lake"), create=True))).close()

    asyncio.run(made())
    with lochan.connect(tmp_path / "lake") as found:
        found.create_pool("logs", key="k")
        found.create_repository("files")
        yield found


def test_what_cannot_be_followed(lake: lochan.Lake, tmp_path: Path) -> None:
    logs, options = lake.pool("logs"), StreamOptions(checkpoint=str(tmp_path / "checkpoint"))
    with pytest.raises(NotFound, match="no folder"):
        logs.ingest_stream(FolderSource(folder=str(tmp_path / "nowhere")), options)
    with pytest.raises(Invalid, match="is no HOST:PORT"):
        logs.ingest_stream(SocketSource(address="here"), options)
    with pytest.raises(NotFound, match="'nowhere'"):
        logs.ingest_stream(RATE, options, branch="nowhere")
    with pytest.raises(Refused, match="holds files"):
        lake.pool("files").ingest_stream(RATE, options)
    with pytest.raises(Invalid, match="keeps how far it is"):
        logs.ingest_stream(RATE)
    assert lake.jobs() == []


def test_a_checkpoint_is_that_of_one_stream(lake: lochan.Lake, tmp_path: Path) -> None:
    """By default it lies where the user's state does, one for each source of each branch."""
    lake.pool("logs").create_branch("dev", "main")
    folder = tmp_path / "state" / "streams" / lake.id / "logs@dev" / RATE_CHECKPOINT
    folder.mkdir(parents=True)
    with (folder / "lochan.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(Refused, match=f"another stream uses the checkpoint {folder}"):
            lake.pool("logs").ingest_stream(RATE, StreamOptions(state_folder=str(tmp_path / "state")), branch="dev")
    assert lake.jobs() == []
