"""A link covers all the bytes, or there is no link."""

import pytest

from lochan.clock import SystemClock
from lochan.errors import NotFound, Transient
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.store.memory import MemoryStore
from lochan.versioning import links, objects
from tests.run import run
from tests.store_faults import FaultStore, StoreFault

ANN = Actor("ann", "test", "here")


def test_a_file_that_was_read_in_part_is_not_linked() -> None:
    short = False

    def choose(verb: str, path: str) -> StoreFault | None:
        return StoreFault.SHORT if short and verb == "get_stream" else None

    async def play() -> None:
        nonlocal short
        lake = await Lake.create(FaultStore(MemoryStore(), SystemClock(), choose))
        await lake.create_repository("demo-repo", actor=ANN)
        repository = await lake.open_repository("demo-repo")
        given = await links.physical_address(repository, "main", "a", actor=ANN)
        await lake.store.put(given.address, b"all of it")
        short = True
        with pytest.raises(Transient):
            await links.link(repository, "main", "a", given.token, actor=ANN)
        with pytest.raises(NotFound):
            await objects.stat(repository, "main", "a")
        short = False
        entry = await links.link(repository, "main", "a", given.token, actor=ANN)
        assert await repository.reader.read_all(entry) == b"all of it"

    run(play())
