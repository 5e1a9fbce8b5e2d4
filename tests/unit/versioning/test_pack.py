"""Small bodies go through a pack to a branch: together, and each with its own answer."""

import asyncio
from collections.abc import Awaitable, Sequence
from itertools import count

import pytest

from lochan.errors import NotFound, Transient
from lochan.formats.entry import Entry
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.store.memory import MemoryStore
from lochan.versioning.bodies.body import HashedBody, ready
from lochan.versioning.bodies.pack import Packing
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.resolve import resolve
from tests.run import run
from tests.store_faults import FaultStore, StoreFault
from tests.unit.store.clocks import StillClock

ADA, BOB = Actor("ada", "tests", "here"), Actor("bob", "tests", "there")


def test_one_that_is_refused_fails_alone() -> None:
    async def play() -> None:
        repository = await _repository(MemoryStore())
        before = repository.journal.tail.state.number
        packing = Packing(repository.bodies, repository.journal)
        answers = await _all(
            packing.stage(ready("a", b"1"), "main", ADA),
            packing.stage(ready("b", b"2"), "nowhere", ADA),
            packing.write(ready("c", b"3")),
            packing.stage(ready("d", b"4"), "main", BOB),
        )
        assert answers[0] is answers[3] is None
        assert isinstance(answers[1], NotFound)
        assert isinstance(answers[2], Entry)
        assert [await _read(repository, path) for path in "abcd"] == [b"1", None, None, b"4"]
        records = [sealed.record async for sealed in repository.journal.records(before)]
        assert [[entry.actor for entry in record.entries] for record in records] == [[ADA, BOB]]

    run(play())


def test_one_whose_sender_has_gone_is_not_staged() -> None:
    async def play() -> None:
        repository = await _repository(MemoryStore())
        packing = Packing(repository.bodies, repository.journal)
        tasks = [asyncio.create_task(packing.stage(ready(path, b"1"), "main", ADA)) for path in "ab"]
        await asyncio.sleep(0)
        tasks[0].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert [await _read(repository, path) for path in "ab"] == [None, b"1"]

    run(play())


@pytest.mark.parametrize("bug", [False, True])
def test_a_pack_that_cannot_be_written(bug: bool) -> None:
    async def play() -> None:
        broken = False

        def choose(verb: str, path: str) -> StoreFault | None:
            if broken and bug and "/data/" in path:
                raise RuntimeError("a bug")
            return StoreFault.UNAVAILABLE if broken and "/data/" in path else None

        repository = await _repository(FaultStore(MemoryStore(), StillClock(0), choose))
        packing = Packing(repository.bodies, repository.journal)
        before, broken = repository.journal.tail.state.number, True
        answers = await _all(*(packing.stage(ready(path, b"1"), "main", ADA) for path in "ab"))
        assert [type(answer) for answer in answers] == [RuntimeError if bug else Transient] * 2
        assert repository.journal.tail.state.number == before
        broken = False
        assert await _all(packing.stage(ready("a", b"2"), "main", ADA)) == [None]
        assert await _read(repository, "a") == b"2"

    run(play())


def test_those_who_write_again_and_again_come_to_share_each_pack_and_record() -> None:
    """Also those who came late, and were in another group at first."""

    async def play() -> None:
        repository = await _repository(MemoryStore())
        ticks = count()
        repository.journal.tail.now = lambda: float(next(ticks))  # type: ignore[method-assign]
        packing = Packing(repository.bodies, repository.journal)
        before = repository.journal.tail.state.number

        async def client(name: str, first: Awaitable[object]) -> None:
            await first
            for each in range(6):
                await packing.stage(ready(f"{name}/{each}", name.encode()), "main", ADA)

        assert await _all(*(client(name, _turns(0 if name in "abc" else 3)) for name in "abcdef")) == [None] * 6
        sizes = [len(sealed.record.entries) async for sealed in repository.journal.records(before)]
        assert sum(sizes) == 36
        assert sizes[0] < 6, "the late ones are in a group of their own"
        assert sizes[2:5] == [6, 6, 6]
        entries = [await _entry(repository, f"{name}/5") for name in "abc"]
        assert len({entry.blocks[0].address for entry in entries if entry is not None}) == 1
        assert await _all(packing.stage(ready("later", b"1"), "main", ADA)) == [None], "nobody else comes back"

    run(play())


def test_where_nobody_comes_back_at_once_packs_are_written_beside_records() -> None:
    """One more pack waits for a record, and the pause behind it is in vain. Then no pack waits for any."""

    async def play() -> None:
        repository = await _repository(MemoryStore())
        packing = Packing(repository.bodies, repository.journal)
        journal, held = repository.journal, asyncio.Event()
        sizes = list[int]()
        write_pack = repository.bodies.write_pack

        async def counted(bodies: Sequence[HashedBody], *, mint: int) -> list[Entry]:
            sizes.append(len(bodies))
            return await write_pack(bodies, mint=mint)

        repository.bodies.write_pack = counted  # type: ignore[method-assign]
        create = journal.slots.create

        async def slow(number: int, data: bytes) -> None:
            await held.wait()
            await create(number, data)

        journal.slots.create = slow  # type: ignore[method-assign]
        first = [asyncio.create_task(packing.stage(ready(f"a{each}", b"1"), "main", ADA)) for each in range(8)]
        await _turns(20)
        late = asyncio.create_task(packing.stage(ready("late", b"1"), "main", ADA))
        await _turns(20)
        assert sizes == [8], "it waits for the record of the first"
        held.set()
        assert await _all(*first, late) == [None] * 9  # of nine that could have come, one did
        held.clear()
        tasks = []
        for each in range(4):
            tasks.append(asyncio.create_task(packing.stage(ready(f"b{each}", b"1"), "main", ADA)))
            await _turns(20)
        assert sizes == [8, 1, 1, 1, 1, 1], "none waits for a record"
        held.set()
        assert await _all(*tasks) == [None] * 4

    run(play())


async def _turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def _repository(store: MemoryStore | FaultStore) -> OpenRepository:
    lake = await Lake.create(store)
    await lake.create_repository("demo", actor=ADA)
    repository = await lake.open_repository("demo")
    await repository.refs()
    return repository


async def _all(*waiting: Awaitable[object]) -> list[object]:
    return await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 5)


async def _entry(repository: OpenRepository, path: str) -> Entry | None:
    refs, _ = await repository.refs()
    return await (await repository.view(resolve(refs, "main"))).get(path)


async def _read(repository: OpenRepository, path: str) -> bytes | None:
    entry = await _entry(repository, path)
    return None if entry is None else await repository.reader.read_all(entry)
