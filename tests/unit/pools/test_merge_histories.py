"""Merged histories of pools: no row is duplicated or lost, whatever objects it is in."""

from collections.abc import Awaitable, Callable

import pytest

from lochan.errors import Conflict, Invalid, NothingToDo
from lochan.pools.merge import HeldBefore, ObjectConflicts, PoolJoins
from tests.run import run
from tests.unit.pools.place import Pool, pool

pytestmark = pytest.mark.thorough

Play = Callable[[Pool], Awaitable[None]]


async def parted() -> Pool:
    """main and dev, each with the objects a b and c."""
    logs = await pool()
    await logs.load("main", "a b", "c")
    await logs.branch("dev")
    return logs


def test_loads_on_both_sides_never_conflict() -> None:
    async def play() -> None:
        logs = await parted()
        await logs.load("dev", "d")
        await logs.load("main", "e")
        await logs.merge("dev")
        assert await logs.rows("main") == "a b c d e"
        assert len(await logs.ids("main")) == 4
        assert (await logs.repository.resolve("main")).commit.parents[1] == await logs.head("dev")
        assert logs.computations == 0

    run(play())


def test_an_empty_pool_is_branched_and_merged_back() -> None:
    async def play() -> None:
        logs = await pool()
        await logs.branch("dev")
        with pytest.raises(NothingToDo):
            await logs.merge("dev")
        await logs.load("dev", "a")
        await logs.merge("dev")
        assert await logs.rows("main") == "a"

    run(play())


CASES: dict[str, tuple[Play, str, int]] = {}


def case(rows: str, computations: int) -> Callable[[Play], Play]:
    """Played on `parted`, dev is merged to main; what main holds then, and how often rows had to be computed."""

    def keep(play: Play) -> Play:
        CASES[play.__name__] = (play, rows, computations)
        return play

    return keep


@case("a b c", 1)
async def both_compacted(logs: Pool) -> None:
    await logs.compact("dev")
    await logs.compact("main")


@case("a c d e", 1)
async def both_replaced_with_changes(logs: Pool) -> None:
    await logs.rewrite("dev", "b", "d")
    await logs.rewrite("main", "b", "e")


@case("c", 1)
async def one_compacted_what_the_other_deleted(logs: Pool) -> None:
    await logs.delete("dev", await _object(logs, "dev", "a b"))
    await logs.compact("main")


@case("c", 0)
async def both_deleted_the_same(logs: Pool) -> None:
    await logs.delete("dev", await _object(logs, "dev", "a b"))
    await logs.delete("main", await _object(logs, "main", "a b"))


@case("a b c d", 0)
async def one_compacted_the_other_loaded(logs: Pool) -> None:
    await logs.compact("dev")
    await logs.load("main", "d")


@case("a b c d", 0)
async def picked_and_then_compacted_on_main(logs: Pool) -> None:
    await logs.load("dev", "d")
    await logs.pick("dev")
    await logs.compact("main", await _object(logs, "main", "d"))


@case("a b c d", 0)
async def picked_and_then_compacted_on_dev(logs: Pool) -> None:
    await logs.load("dev", "d")
    await logs.pick("dev")
    await logs.compact("dev", await _object(logs, "dev", "d"))


@case("a b c d", 1)
async def picked_and_then_compacted_on_both(logs: Pool) -> None:
    await logs.load("dev", "d")
    await logs.pick("dev")
    await logs.compact("main", await _object(logs, "main", "d"))
    await logs.compact("dev", await _object(logs, "dev", "d"))


@case("a b c", 0)
async def picked_and_then_deleted_on_main(logs: Pool) -> None:
    await logs.load("dev", "d")
    await logs.pick("dev")
    await logs.delete("main", await _object(logs, "main", "d"))


@case("a c", 0)
async def a_replacement_picked_and_compacted(logs: Pool) -> None:
    await logs.rewrite("dev", "b")
    await logs.pick("dev")
    await logs.compact("main")


@case("a b c d", 0)
async def squashed_and_then_compacted(logs: Pool) -> None:
    await logs.load("dev", "d")
    await logs.compact("dev", await _object(logs, "dev", "a b"))
    await logs.merge("dev", squash=True)
    await logs.compact("main")


@case("a b c", 0)
async def a_compaction_before_the_fork_was_reverted(logs: Pool) -> None:
    await logs.compact("main")
    await logs.branch("next")
    await logs.revert("next", "next")
    await logs.merge("next", "dev")


@pytest.mark.parametrize("name", CASES)
def test_merge(name: str) -> None:
    async def play() -> None:
        story, rows, computations = CASES[name]
        logs = await parted()
        await story(logs)
        try:
            await logs.merge("dev")
        except NothingToDo:
            assert not computations
        assert await logs.rows("main") == rows
        assert logs.computations == computations

    run(play())


def test_only_what_is_related_is_computed() -> None:
    async def play() -> None:
        logs = await parted()
        (ours,) = await logs.load("main", "d")
        await logs.compact("main", await _object(logs, "main", "a b"))
        (theirs,) = await logs.load("dev", "e")
        await logs.rewrite("dev", "b")
        await logs.merge("dev")
        assert await logs.rows("main") == "a c d e"
        kept = await _object(logs, "dev", "c")
        assert {ours, theirs, kept} < await logs.ids("main")
        assert (logs.computations, len(await logs.ids("main"))) == (1, 4)

    run(play())


async def _object(logs: Pool, ref: str, rows: str) -> str:
    for entry in await logs.objects(ref):
        if " ".join(await logs.rows_of([entry])) == rows:
            return entry.path[:27]
    raise AssertionError(rows)


def test_merge_after_merge_and_a_criss_cross() -> None:
    async def play() -> None:
        logs = await parted()
        await logs.rewrite("dev", "b", "d")
        await logs.rewrite("main", "c", "e")
        await logs.branch("old", "main")
        await logs.compact("main")
        await logs.compact("dev")
        await logs.branch("dev-1", "dev")
        await logs.branch("main-1", "main")
        await logs.merge("dev-1", "main")
        await logs.merge("main-1", "dev")
        assert await logs.rows("main") == await logs.rows("dev") == "a d e"
        await logs.merge("dev")
        assert await logs.rows("main") == "a d e"
        await logs.rewrite("dev", "a")
        await logs.load("main", "f")
        await logs.merge("dev")
        assert await logs.rows("main") == "d e f"

    run(play())


def test_without_an_engine_a_conflict_names_the_objects_and_moves_nothing() -> None:
    async def play() -> None:
        logs = await parted()
        logs.repository.joins = PoolJoins(logs.repository)
        gone = await _object(logs, "main", "a b")
        await both_compacted(logs)
        before = await logs.head()
        with pytest.raises(ObjectConflicts, match=gone) as caught:
            await logs.merge("dev")
        assert gone in caught.value.paths
        assert await logs.head() == before

    run(play())


def test_a_pick_never_brings_back_what_was_on_the_branch() -> None:
    async def play() -> None:
        logs = await parted()
        await logs.load("dev", "d")
        await logs.pick("dev")
        await logs.compact("main")
        with pytest.raises(HeldBefore, match=r"held .* before"):
            await logs.pick("dev")
        assert await logs.rows("main") == "a b c d"
        await logs.load("main", "e")
        load = await logs.head()
        await logs.delete("main", await _object(logs, "main", "e"))
        with pytest.raises(HeldBefore):
            await logs.pick(load)
        assert await logs.rows("main") == "a b c d"

    run(play())


def test_a_picked_merge_brings_nothing_back_either() -> None:
    async def play() -> None:
        logs = await parted()
        await logs.branch("side")
        await logs.load("side", "s")
        await logs.load("dev", "d")
        await logs.merge("side", "dev")
        await logs.merge("side", "main")
        await logs.compact("main")
        with pytest.raises(HeldBefore):
            await logs.pick("dev")
        assert await logs.rows("main") == "a b c s"

    run(play())


def test_a_picked_replacement_is_computed_where_its_object_was_replaced() -> None:
    async def play() -> None:
        logs = await parted()
        await logs.rewrite("dev", "b", "d")
        await logs.compact("main")
        await logs.pick("dev")
        assert await logs.rows("main") == "a c d"
        await logs.load("dev", "x y")
        await logs.rewrite("dev", "x", "z")
        await logs.pick("dev")  # main never had x and y
        assert await logs.rows("main") == "a c d z"

    run(play())


def test_reverts() -> None:
    async def play() -> None:
        logs = await parted()
        await logs.load("main", "d")
        load = await logs.head()
        await logs.revert(load)
        removed = await logs.head()
        assert await logs.rows("main") == "a b c"
        await logs.revert(removed)
        assert await logs.rows("main") == "a b c d"
        again = await logs.head()
        with pytest.raises(Conflict):  # it came back since, and to add it once more would double it after a compaction
            await logs.compact("main")
            await logs.revert(removed)
        assert await logs.rows("main") == "a b c d"
        await logs.revert(again)  # the rows go, whatever object they lie in by now
        assert await logs.rows("main") == "a b c"
        with pytest.raises(Invalid, match="not in the history"):
            await logs.load("dev", "e")
            await logs.revert("dev")

    run(play())


def test_a_delete_is_reverted_after_a_compaction() -> None:
    async def play() -> None:
        logs = await parted()
        await logs.rewrite("main", "b")
        deleted = await logs.head()
        await logs.load("main", "d")
        await logs.compact("main")
        await logs.revert(deleted)
        assert await logs.rows("main") == "a b c d"

    run(play())


def test_rebase_replays_every_commit() -> None:
    async def play() -> None:
        logs = await parted()
        await logs.load("dev", "d")
        load = await logs.head("dev")
        await logs.revert(load, "dev")
        await logs.revert(await logs.head("dev"), "dev")
        await logs.rewrite("dev", "b", "e")
        await logs.load("main", "f")
        await logs.compact("main")
        await logs.rebase("dev")
        assert await logs.rows("dev") == "a c d e f"
        assert (await logs.repository.resolve("dev")).commit.generation == 7
        await logs.merge("dev")
        assert await logs.rows("main") == "a c d e f"

    run(play())
