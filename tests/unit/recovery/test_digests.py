"""A journal that other processes have prepared is folded to the same state as one that is read record by record."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from concurrent.futures import Future

import pytest

from lochan.errors import Corrupt
from lochan.formats import checkpoint
from lochan.lake import Lake
from lochan.recovery.digests import in_parallel
from lochan.recovery.journal_walk import list_journal, segment_path
from lochan.recovery.rebuild import fold_journal, fold_once
from lochan.recovery.replay import NotPlain
from lochan.store.memory import MemoryStore
from lochan.versioning.branches import create_branch, set_read_only
from lochan.versioning.journal_digest import digest_segment
from lochan.versioning.objects import delete
from lochan.versioning.state.refs import Refs
from tests.unit.recovery.history import ANN, committed, written


def here(data: bytes, journal: str, group: int, stops: Collection[int]) -> Future[bytes]:
    """In this process."""
    done: Future[bytes] = Future()
    try:
        done.set_result(digest_segment(data, journal, group, stops))
    except Corrupt as error:
        done.set_exception(error)
    return done


async def history(*, read_only: bool = False) -> tuple[MemoryStore, str]:
    store = MemoryStore()
    lake = await Lake.create(store)
    await lake.create_repository("files", actor=ANN)
    files = await lake.open_repository("files")
    await create_branch(files, "dev", "main", actor=ANN)
    for number in range(130):
        await written(files, "main", f"p/{number % 40}", str(number))
        await written(files, "dev" if number % 7 else "main", f"q/{number}", str(number))
        if number % 10 == 3:
            await delete(files, "main", [f"p/{number % 40}"], actor=ANN)
        if number % 50 == 49:
            await committed(files, "main", str(number))
    if read_only:
        await set_read_only(files, True, actor=ANN)
        await set_read_only(files, False, actor=ANN)
    for number in range(270):
        await asyncio.gather(*(written(files, "main", f"r/{number}/{at}", "r") for at in range(3)))
    await files.journal.trim()
    id = files.repository.id
    await files.close()
    await lake.close()
    return store, id


@pytest.mark.thorough
def test_both_ways_lead_to_the_same_state() -> None:
    async def go() -> None:
        store, id = await history(read_only=True)
        files = await list_journal(store, id)
        assert len(files.segments) >= 2
        quick = await fold_once(store, id, (Refs,), files, in_parallel(here))
        slow = await fold_once(store, id, (Refs,), files, None)
        assert checkpoint.encode(quick.state.checkpoint()) == checkpoint.encode(slow.state.checkpoint())
        assert quick.notes == slow.notes
        assert quick.replay.events == slow.replay.events
        assert {each.outcome for each in quick.checkpoints} == {"same"}
        assert quick.checkpoints == slow.checkpoints

    asyncio.run(go())


@pytest.mark.thorough
def test_damage_is_named_all_the_same() -> None:
    async def go() -> None:
        store, id = await history()
        path = segment_path(id, 1)
        data = await store.get(path)
        await store.put(path, data[:1000] + bytes([data[1000] ^ 1]) + data[1001:])
        files = await list_journal(store, id)
        with pytest.raises((Corrupt, NotPlain)):
            await fold_once(store, id, (Refs,), files, in_parallel(here))
        folded = await fold_journal(store, id, (Refs,), files, digest=in_parallel(here))
        assert folded.damage is not None
        assert (folded.damage.what, folded.damage.path, folded.damage.number) == ("segment-damaged", path, 256)
        assert folded.state.number == 255

    asyncio.run(go())
