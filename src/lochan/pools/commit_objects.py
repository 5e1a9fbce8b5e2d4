"""Data objects come to a branch, and go, by one head move each (rule S6). Nothing of it is ever staged.

Whoever loses the race lands again on the new head, by itself:

    load         its objects are added to what is there now
    compaction   only if all that it read is still there; else it has nothing to stand in for
    the rest     is computed anew: a delete by predicate, or an upsert, must see the rows that came meanwhile

The objects' files are written before, and carry the number that their writer had folded first (G1, G3).
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

from lochan.errors import Invalid
from lochan.formats.entry import Entry, Tombstone
from lochan.formats.record import Actor
from lochan.formats.run import changes_table
from lochan.pools.objects import find, object_id
from lochan.tree.tree import Tree
from lochan.versioning.heads.joins import MoveBase, NewObjects
from lochan.versioning.heads.land import FinalConflict
from lochan.versioning.heads.moves import NOTHING, CommitMessage, MovePlan, move
from lochan.versioning.idempotency import once, same
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.collection import mint_of


class Swap(NamedTuple):
    """Objects of a branch that go, and those that stand in their place."""

    removed: Sequence[Entry] = ()  # as they were when they were read
    added: Sequence[Entry] = ()
    message: str = ""


async def add_objects(
    repository: OpenRepository,
    branch: str,
    entries: Sequence[Entry],
    said: CommitMessage = NOTHING,
    *,
    actor: Actor,
    why: str = "load",
    message: str = "",
    closes: tuple[str, ...] = (),
) -> str:
    """Returns the new head. Added to whatever the head is: two loads never stand in each other's way. `closes` names
    the job that held the files open, if one did."""
    if not entries:
        raise Invalid("there are no objects to add", hint="an empty load changes nothing")

    async def compute(on: MoveBase) -> MovePlan:
        tree = await swapped(repository, on, Swap((), entries))
        return MovePlan(
            tree, (on.id,), message or f"{why.capitalize()} {counted(len(entries))}", new=new(entries, closes)
        )

    return await move(repository, branch, why, compute, said, actor=actor)


async def replace_objects(
    repository: OpenRepository,
    branch: str,
    swap: Swap,
    said: CommitMessage = NOTHING,
    *,
    actor: Actor,
    why: str = "compact",
    closes: tuple[str, ...] = (),
) -> str:
    """For what holds the same rows as before, such as a compaction: it lands on any head that still has all of
    `removed` as they were. Raises ConcurrentCommit if not."""

    async def compute(on: MoveBase) -> MovePlan:
        await check_there(repository, on, swap.removed)
        message = swap.message or f"{why.capitalize()} {counted(len(swap.removed))} into {len(swap.added)}"
        return MovePlan(await swapped(repository, on, swap), (on.id,), message, new=new(swap.added, closes))

    return await move(repository, branch, why, compute, said, actor=actor)


async def change_objects(
    repository: OpenRepository,
    branch: str,
    why: str,
    decide: Callable[[MoveBase, Tree], Awaitable[Swap]],
    said: CommitMessage = NOTHING,
    *,
    actor: Actor,
    closes: tuple[str, ...] = (),
) -> str:
    """For what depends on the rows that are there, such as a delete by predicate or an upsert: `decide` is asked again
    after every lost race, with the head as it is then and its tree, and may write new objects each time. Raises
    NothingToDo where it removes and adds nothing."""

    async def compute(on: MoveBase) -> MovePlan:
        swap = await decide(on, await repository.tree(on.head))
        message = swap.message or f"{why.capitalize()}: {counted(len(swap.removed))} out, {len(swap.added)} in"
        return MovePlan(await swapped(repository, on, swap), (on.id,), message, new=new(swap.added, closes))

    return await move(repository, branch, why, compute, said, actor=actor)


@once(same)
async def delete_objects(
    repository: OpenRepository, branch: str, ids: Iterable[str], said: CommitMessage = NOTHING, *, actor: Actor
) -> str:
    """By id, or the beginning of one. Raises NotFound for what is not on the branch, Ambiguous."""
    refs, _ = await repository.refs()
    seen = await repository.tree(refs.commit(refs.branch(branch).head))
    wanted = sorted({(await find(seen, id)).path for id in ids})  # a beginning may mean another one in a moment

    async def decide(on: MoveBase, tree: Tree) -> Swap:
        return Swap([await find(tree, path) for path in wanted], (), f"Delete {counted(len(wanted))}")

    return await change_objects(repository, branch, "delete", decide, said, actor=actor)


async def swapped(repository: OpenRepository, on: MoveBase, swap: Swap) -> Tree:
    """The head's tree without what goes and with what comes."""
    gone = {entry.path for entry in swap.removed} - {entry.path for entry in swap.added}
    changes = changes_table([*(Tombstone(path) for path in gone), *swap.added])
    return await repository.trees.apply(await repository.tree(on.head), changes, on.mint)


async def check_there(repository: OpenRepository, on: MoveBase, entries: Iterable[Entry]) -> None:
    """Raises ConcurrentCommit where one of them is gone, or not the same file any more."""
    tree = await repository.tree(on.head)
    for entry in entries:
        found = await tree.get(entry.path)
        if found is None or found.blocks != entry.blocks:
            raise FinalConflict(
                f"data object {object_id(entry.path)} is not on the branch any more",
                hint="somebody deleted or compacted it meanwhile; nothing was changed",
            )


def new(entries: Sequence[Entry], closes: tuple[str, ...] = ()) -> NewObjects | None:
    """What the event must say of files that it is the first to name."""
    mints = [mint_of(block.address) for entry in entries for block in entry.blocks]
    return NewObjects(min(mints), closes) if mints else None


def counted(objects: int) -> str:
    return f"{objects} data object{'' if objects == 1 else 's'}"
