"""A journal that other processes have prepared is folded to the same state as one that is read record by record."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Collection
from concurrent.futures import Future

import pytest

from lochan.errors import Corrupt
from lochan.formats import checkpoint
from lochan.formats.repository_events import Staged
from lochan.lake import Lake
from lochan.recovery.digests import digest_pool, in_parallel, in_this_process
from lochan.recovery.journal_walk import list_journal, segment_path
from lochan.recovery.rebuild import fold_journal, fold_once
from lochan.recovery.replay import NotPlain
from lochan.store.memory import MemoryStore
from lochan.versioning.branches import create_branch, set_read_only
from lochan.versioning.journal_digest import STAGED, digest_segment
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


async def history(*, read_only: bool = False, rounds: int = 130) -> tuple[MemoryStore, str]:
    store = MemoryStore()
    lake = await Lake.create(store)
    await lake.create_repository("files", actor=ANN)
    files = await lake.open_repository("files")
    await create_branch(files, "dev", "main", actor=ANN)
    for number in range(rounds):
        await written(files, "main", f"p/{number % 40}", str(number))
        await written(files, "dev" if number % 7 else "main", f"q/{number}", str(number))
        if number % 10 == 3:
            await delete(files, "main", [f"p/{number % 40}"], actor=ANN)
        if number % 50 == 49:
            await committed(files, "main", str(number))
    if read_only:
        await set_read_only(files, True, actor=ANN)
        await set_read_only(files, False, actor=ANN)
    for number in range(270 if rounds else 600):
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


def test_the_work_is_shared_between_this_process_and_others_once_they_are_up() -> None:
    """The first segments are prepared here, the rest by others, and the state is the same."""

    async def go() -> None:
        store, id = await history(rounds=0)
        files = await list_journal(store, id)
        asked: list[int] = []

        def elsewhere(data: bytes, journal: str, group: int, stops: Collection[int]) -> Future[bytes]:
            asked.append(group)
            return here(data, journal, group, stops)

        answers = iter([False, True])
        shared = await fold_once(store, id, (Refs,), files, in_parallel(elsewhere, lambda: next(answers, True)))
        alone = await fold_once(store, id, (Refs,), files, in_this_process())
        slow = await fold_once(store, id, (Refs,), files, None)
        assert len(files.segments) >= 2
        assert asked == [*files.segments][1:]
        for each in (shared, alone):
            assert checkpoint.encode(each.state.checkpoint()) == checkpoint.encode(slow.state.checkpoint())

    asyncio.run(go())


@pytest.mark.full
def test_real_processes_prepare_segments() -> None:
    async def go() -> None:
        store, id = await history(rounds=0)
        files = await list_journal(store, id)
        with digest_pool(1) as pool:
            pooled = await fold_once(store, id, (Refs,), files, pool)
        slow = await fold_once(store, id, (Refs,), files, None)
        assert checkpoint.encode(pooled.state.checkpoint()) == checkpoint.encode(slow.state.checkpoint())

    asyncio.run(go())


def test_the_type_of_a_put_is_that_of_its_event() -> None:
    assert Staged.type == STAGED


def test_a_process_that_prepares_segments_does_not_load_arrow() -> None:
    """It would take three times as long to start."""
    code = "import sys, lochan.versioning.journal_digest; print('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
