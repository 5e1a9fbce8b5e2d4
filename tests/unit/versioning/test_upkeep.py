"""Compaction behind the writers: nobody sees a difference, and the journal's state stays small."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from lochan.errors import Refused
from lochan.formats.record import Actor
from lochan.formats.repository_events import Compacted, CoveringTree, Moved
from lochan.formats.run import changes_table
from lochan.lake import Lake
from lochan.staging.compaction import CompactionLimits
from lochan.store.memory import MemoryStore
from lochan.versioning import branches, objects
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.upkeep import StagingUpkeep, compact, cover
from tests.run import run
from tests.unit.staging.fakes import entry

ANN = Actor("ann", "test", "here")
SMALL = CompactionLimits(inline_count=8, inline_bytes=1 << 20, runs=3)


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def opened(store: MemoryStore | None = None) -> OpenRepository:
    lake = await Lake.create(store or MemoryStore())
    await lake.create_repository("demo-repo", actor=ANN)
    return await lake.open_repository("demo-repo")


async def paths(repository: OpenRepository, ref: str = "main") -> list[str]:
    return [entry.path for entry in (await objects.list_objects(repository, ref)).entries]


def test_what_is_staged_looks_the_same_after_every_step() -> None:
    async def play() -> None:
        repository = await opened()
        for round_ in range(6):
            for number in range(10):
                await objects.put(repository, "main", f"{number}-{round_}", once(b"x"), actor=ANN)
            await objects.delete(repository, "main", [f"{number}-{round_}" for number in range(5)], actor=ANN)
            before = await paths(repository)
            while await compact(repository, "main", SMALL):
                assert await paths(repository) == before
        layers = repository.folded().branch("main").layers
        assert layers.inline_count == 0
        assert len(layers.runs) <= 4
        assert sum(run.tombstones for run in layers.runs) == 0, "nothing lies below them"
        await commit(repository, "main", CommitRequest("c"), actor=ANN)
        assert await paths(repository, "main@") == before
        await repository.close()

    run(play())


def test_runs_that_were_compacted_are_not_kept_in_memory() -> None:
    async def play() -> None:
        repository = await opened()
        held = repository.runs._held
        for round_ in range(8):
            for number in range(10):
                await objects.put(repository, "main", f"{number}-{round_}", once(b"x"), actor=ANN)
            while await compact(repository, "main", SMALL):
                pass
            await objects.stat(repository, "main", "0-0")  # which opens what there is
            there = {f"{repository.repository.id}/{run.file}" for run in repository.folded().branch("main").layers.runs}
            assert set(held._runs._items) <= there, "and nothing that is gone"
            assert held.bytes == sum(weight for _, weight in held._runs._items.values())
        assert repository.runs.opened > len(there)
        await repository.close()

    run(play())


def test_a_tombstone_over_a_committed_path_stays() -> None:
    async def play() -> None:
        repository = await opened()
        await objects.put(repository, "main", "kept", once(b"x"), actor=ANN)
        await commit(repository, "main", CommitRequest("c"), actor=ANN)
        await objects.delete(repository, "main", ["kept"], actor=ANN)
        for number in range(8):
            await objects.put(repository, "main", f"more-{number}", once(b"x"), actor=ANN)
        assert await compact(repository, "main", SMALL)
        assert "kept" not in await paths(repository)
        await repository.close()

    run(play())


def test_in_the_background_beside_writers_commits_and_a_reset() -> None:
    async def play() -> None:
        repository = await opened()
        upkeep = StagingUpkeep(repository, SMALL)

        async def write(name: str) -> None:
            for number in range(40):
                await objects.put(repository, "main", f"{name}/{number:02d}", once(b"x"), actor=ANN)
                upkeep.touched("main")

        async def commit_now_and_then() -> None:
            for number in range(4):
                for _ in range(40):
                    await asyncio.sleep(0)
                if not repository.folded().branch("main").layers.empty:
                    await commit(repository, "main", CommitRequest(f"c{number}"), actor=ANN)

        await asyncio.gather(write("a"), write("b"), commit_now_and_then())
        await upkeep.close()
        assert await paths(repository) == [f"{name}/{number:02d}" for name in "ab" for number in range(40)]
        await branches.hard_reset(repository, "main", "main", actor=ANN)
        upkeep.touched("main")
        await upkeep.close()
        assert await paths(repository) == await paths(repository, "main@")
        await repository.close()

    run(play())


# --- the tree over many tombstones -----------------------------------------------------------------------------------
BURYING = CompactionLimits(inline_count=8, inline_bytes=1 << 20, runs=3, tombstones=8)
TWENTY = [f"{number:02d}" for number in range(20)]


async def buried(repository: OpenRepository) -> None:
    """Twenty committed, and the first fifteen of them deleted since, in a run."""
    for path in TWENTY:
        await objects.put(repository, "main", path, once(b"x"), actor=ANN)
    await commit(repository, "main", CommitRequest("twenty"), actor=ANN)
    await objects.delete(repository, "main", TWENTY[:15], actor=ANN)
    assert await compact(repository, "main", BURYING)


def over_main(repository: OpenRepository) -> CoveringTree | None:
    return repository.folded().branch("main").layers.over


def test_many_tombstones_get_a_tree_and_nobody_sees_a_difference() -> None:
    async def play() -> None:
        repository = await opened()
        await buried(repository)
        before = await paths(repository)
        assert await cover(repository, "main", BURYING)
        assert not await cover(repository, "main", BURYING), "it is there"
        assert over_main(repository) is not None
        assert await paths(repository) == before == TWENTY[15:]
        await objects.put(repository, "main", "05", once(b"y"), actor=ANN)
        assert await paths(repository) == ["05", *TWENTY[15:]]
        await commit(repository, "main", CommitRequest("fewer"), actor=ANN)
        assert await paths(repository, "main@") == ["05", *TWENTY[15:]]
        assert over_main(repository) is None
        await repository.close()

    run(play())


def test_a_commit_of_just_these_runs_takes_the_tree_as_it_is() -> None:
    async def play() -> None:
        repository = await opened()
        await buried(repository)
        assert await cover(repository, "main", BURYING)
        made = over_main(repository)
        _, committed = await commit(repository, "main", CommitRequest("fewer"), actor=ANN)
        assert made is not None and (committed.tree, committed.tree_file) == (made.tree, made.file)
        assert await paths(repository) == await paths(repository, "main@") == TWENTY[15:]
        await repository.close()

    run(play())


def test_a_commit_of_some_of_it_makes_its_own() -> None:
    async def play() -> None:
        repository = await opened()
        await buried(repository)
        assert await cover(repository, "main", BURYING)
        await commit(repository, "main", CommitRequest("two", paths=["03", "04"]), actor=ANN)
        assert await paths(repository, "main@") == [path for path in TWENTY if path not in ("03", "04")]
        assert await paths(repository) == TWENTY[15:]
        assert over_main(repository) is None
        await repository.close()

    run(play())


def test_every_fold_of_the_journal_has_the_tree() -> None:
    async def play() -> None:
        store = MemoryStore()
        repository = await opened(store)
        await buried(repository)
        assert await cover(repository, "main", BURYING)
        other = await (await Lake.open(store)).open_repository("demo-repo")
        assert await paths(other) == TWENTY[15:]
        assert over_main(other) == over_main(repository) is not None
        await repository.close()

    run(play())


def test_a_head_that_moved_has_its_own_tree() -> None:
    """The new head's changes are visible at once, and upkeep makes a new tree."""

    async def play() -> None:
        repository = await opened()
        await buried(repository)
        assert await cover(repository, "main", BURYING)
        refs, mint = await repository.refs()
        branch, head = refs.branch("main"), refs.commit(refs.branch("main").head)
        tree = await repository.trees.apply(await repository.tree(head), changes_table([entry("imported")]), mint)
        made = msgspec.structs.replace(
            head, parents=(branch.head,), tree=tree.ref.id, tree_file=tree.ref.file, generation=head.generation + 1
        )
        event = Moved("main", branch.incarnation, branch.head, made.id, "import", (made,), read_at=mint)
        await repository.submit(ANN, event)
        assert await paths(repository) == [*TWENTY[15:], "imported"]
        assert await cover(repository, "main", BURYING)
        assert await paths(repository) == [*TWENTY[15:], "imported"]
        found = over_main(repository)
        assert found is not None and found.base == tree.ref.file
        await repository.close()

    run(play())


def test_a_tree_for_runs_that_are_gone_is_refused() -> None:
    async def play() -> None:
        repository = await opened()
        await buried(repository)
        late = repository.folded().branch("main")
        assert await cover(repository, "main", BURYING)
        made = over_main(repository)
        await branches.reset_staged(repository, "main", actor=ANN)
        with pytest.raises(Refused):
            await repository.submit(
                ANN, Compacted("main", late.incarnation, (), (), (), late.head, read_at=10**6, over=made)
            )
        assert await paths(repository) == TWENTY
        await repository.close()

    run(play())


def test_upkeep_makes_the_tree_by_itself() -> None:
    async def play() -> None:
        repository = await opened()
        upkeep = StagingUpkeep(repository, BURYING)
        await buried(repository)
        upkeep.touched("main")
        await upkeep.close()
        assert over_main(repository) is not None
        assert await paths(repository) == TWENTY[15:]
        await repository.close()

    run(play())
