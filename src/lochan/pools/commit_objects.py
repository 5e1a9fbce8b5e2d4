"""Adds data objects to a branch, and removes them from it, by one head move each (rule S6). Nothing is ever staged.

A move that loses the race against another one is tried again on the new head:

    load         adds its objects to whatever the head holds
    compaction   succeeds only if all objects that it read still exist
    the rest     is computed again: a delete by predicate, or an upsert, must see the rows that were added meanwhile

The objects' files are written before. Their names contain the number that their writer had folded first (G1, G3)."""

from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import NamedTuple

from lochan.clock import Clock
from lochan.errors import Invalid
from lochan.formats.entry import Entry, Tombstone
from lochan.formats.record import Actor
from lochan.formats.run import changes_table
from lochan.ids import Ids
from lochan.journal.keys import CarriedOut
from lochan.pools.facts import Facts, from_metadata, to_metadata
from lochan.pools.objects import find, object_id, object_path
from lochan.store.protocol import Store
from lochan.tree.diff import diff, differences_of
from lochan.tree.tree import Tree
from lochan.versioning.bodies.write import Bodies
from lochan.versioning.heads.joins import MoveBase, NewObjects
from lochan.versioning.heads.land import FinalConflict
from lochan.versioning.heads.moves import NOTHING, CommitMessage, MovePlan, move
from lochan.versioning.idempotency import once, same
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.collection import mint_of

# In a commit's metadata, stored on disk: the parent that has the same rows in other objects. It names the parent
# because a rebase keeps metadata, and what is replayed elsewhere may change rows.
SAME_ROWS = "lochan-same-rows"
COMPACT = "compact"
CONTENT_TYPE = "application/vnd.apache.parquet"
_ONE_BLOCK = 1 << 62


class Swap(NamedTuple):
    """Objects of a branch that are removed, and those that replace them."""

    removed: Sequence[Entry] = ()  # as they were when they were read
    added: Sequence[Entry] = ()
    message: str = ""


async def add_objects(
    repository: OpenRepository,
    branch: str,
    entries: Sequence[Entry],
    message: CommitMessage = NOTHING,
    *,
    actor: Actor,
    why: str = "load",
    default: str = "",
    closes: tuple[str, ...] = (),
    stored: Awaitable[None] | None = None,
) -> str:
    """Adds the objects to the branch and returns the new head. `default` is the commit's message if `message` has none.
    This works on any head, so two loads never conflict. `closes` names the job that kept the files open, if there was
    one. `stored` is given if the files are still being stored; they are durable when it is done, and it may be awaited
    several times."""
    if not entries:
        raise Invalid("there are no objects to add", hint="an empty load changes nothing")

    async def compute(on: MoveBase) -> MovePlan:
        tree = await apply_swap(repository, on, Swap((), entries))
        if stored is not None:
            await stored  # an event names only files that are durable
        return MovePlan(
            tree,
            (on.id,),
            default or f"{why.capitalize()} {object_count(len(entries))}",
            new=new_objects(entries, closes),
        )

    return await move(repository, branch, why, compute, message, actor=actor)


async def replace_objects(
    repository: OpenRepository,
    branch: str,
    swap: Swap,
    message: CommitMessage = NOTHING,
    *,
    actor: Actor,
    why: str = COMPACT,
    closes: tuple[str, ...] = (),
) -> str:
    """Replaces objects by others with the same rows, as a compaction does, and marks the commit as such. This works on
    any head that still has all of `removed` unchanged. Raises ConcurrentCommit otherwise."""

    async def compute(on: MoveBase) -> MovePlan:
        await check_present(repository, on, swap.removed)
        text = swap.message or f"{why.capitalize()} {object_count(len(swap.removed))} into {len(swap.added)}"
        tree, new = await apply_swap(repository, on, swap), new_objects(swap.added, closes)
        return MovePlan(tree, (on.id,), text, new=new, metadata={SAME_ROWS: on.id} if why == COMPACT else {})

    return await move(repository, branch, why, compute, message, actor=actor)


async def change_objects(
    repository: OpenRepository,
    branch: str,
    why: str,
    decide: Callable[[MoveBase, Tree], Awaitable[Swap]],
    message: CommitMessage = NOTHING,
    *,
    actor: Actor,
    closes: tuple[str, ...] = (),
) -> str:
    """Makes a change that depends on the rows of the head, such as a delete by predicate or an upsert. Calls `decide`
    again after every lost race, with the new head and its tree; it may write new objects each time. Raises NothingToDo
    if it removes and adds nothing."""

    async def compute(on: MoveBase) -> MovePlan:
        swap = await decide(on, await repository.tree(on.head))
        text = swap.message or f"{why.capitalize()}: {object_count(len(swap.removed))} out, {len(swap.added)} in"
        return MovePlan(await apply_swap(repository, on, swap), (on.id,), text, new=new_objects(swap.added, closes))

    return await move(repository, branch, why, compute, message, actor=actor)


@once(same)
async def delete_objects(
    repository: OpenRepository, branch: str, ids: Iterable[str], message: CommitMessage = NOTHING, *, actor: Actor
) -> str:
    """Deletes objects; `ids` may be beginnings of ids. Raises NotFound if one is not on the branch, or Ambiguous."""
    refs, _ = await repository.refs()
    seen = await repository.tree(refs.commit(refs.branch(branch).head))
    paths = sorted({(await find(seen, id)).path for id in ids})  # a beginning may be ambiguous on the next head

    async def decide(on: MoveBase, tree: Tree) -> Swap:
        return Swap([await find(tree, path) for path in paths], (), f"Delete {object_count(len(paths))}")

    return await change_objects(repository, branch, "delete", decide, message, actor=actor)


async def apply_swap(repository: OpenRepository, on: MoveBase, swap: Swap) -> Tree:
    """Returns the head's tree, without the removed objects and with the added ones."""
    removed = {entry.path for entry in swap.removed} - {entry.path for entry in swap.added}
    if not removed:
        return await repository.trees.append(await repository.tree(on.head), swap.added, on.mint)
    changes = changes_table([*(Tombstone(path) for path in removed), *swap.added])
    return await repository.trees.apply(await repository.tree(on.head), changes, on.mint)


async def check_present(repository: OpenRepository, on: MoveBase, entries: Iterable[Entry]) -> None:
    """Raises ConcurrentCommit if one of the entries is gone, or is another file now."""
    tree = await repository.tree(on.head)
    for entry in entries:
        found = await tree.get(entry.path)
        if found is None or _contents(found) != _contents(entry):
            raise FinalConflict(
                f"data object {object_id(entry.path)} is no longer on the branch",
                hint="it was deleted or compacted meanwhile; nothing was changed",
            )


def _contents(entry: Entry) -> list[tuple[bytes, int]]:
    """Returns the contents of the object's file. Its address does not count: an alias may have led to another place."""
    return [(block.sha256, block.size) for block in entry.blocks]


def new_objects(entries: Sequence[Entry], closes: tuple[str, ...] = ()) -> NewObjects | None:
    """Returns the part of the event about files that it is the first to name, or None if there are none."""
    return NewObjects(lowest_mint(entries), closes) if any(entry.blocks for entry in entries) else None


def lowest_mint(entries: Iterable[Entry]) -> int:
    """Returns the lowest mint number of the entries' files. REQUIRES: one of them names a file."""
    return min(mint_of(block.address) for entry in entries for block in entry.blocks)


def object_count(objects: int) -> str:
    return f"{objects} data object{'' if objects == 1 else 's'}"


class CommittedObjects(NamedTuple):
    """The objects that a commit added and removed: the result of a load, a delete or a compaction that is repeated with
    its idempotency key (rule J8)."""

    commit: str
    removed: list[Entry]
    added: list[Entry]

    @property
    def rows_removed(self) -> int:
        return row_count(self.removed)

    @property
    def rows_added(self) -> int:
        return row_count(self.added)


async def committed_objects(repository: OpenRepository, before: CarriedOut) -> CommittedObjects:
    id: str = before.result
    refs = repository.folded()
    made = refs.recorded(id)
    trees = await repository.tree(refs.recorded(made.parents[0])), await repository.tree(made)
    found = [each async for table in diff(repository.trees, *trees) for each in differences_of(table)]
    return CommittedObjects(
        id,
        [each.left for each in found if each.left is not None],
        [each.right for each in found if each.right is not None],
    )


def row_count(entries: Iterable[Entry]) -> int:
    return sum(from_metadata(entry.metadata, entry.path).rows for entry in entries)


class ObjectWriter:
    """Writes data objects to the store, each as one file and one block, so that any engine can read it in place.

    `mint` is the journal number that was folded before the first byte (G1) by the process that will commit the objects.
    The writer may be a process on another machine."""

    def __init__(self, store: Store, repository_id: str, mint: int, *, clock: Clock, ids: Ids) -> None:
        self._ids, self._clock = ids, clock
        self._mint = mint
        self._bodies = Bodies(
            store,
            prefix=repository_id,
            clock=clock,
            ids=ids,
            writer=ids.ksuid(clock.wall()),
            block_bytes=_ONE_BLOCK,
        )

    @classmethod
    def of(cls, repository: OpenRepository, mint: int) -> "ObjectWriter":
        """Returns a writer for the repository. `mint` is `(await repository.refs())[1]`."""
        return cls(repository.store, repository.repository.id, mint, clock=repository.clock, ids=repository.ids)

    async def write(self, chunks: AsyncIterable[bytes], facts: Facts) -> Entry:
        """Writes an object. When it returns, the object is durable, but on no branch yet."""
        id = self._ids.ksuid(self._clock.wall())
        return await self._bodies.write(
            object_path(id), chunks, mint=self._mint, content_type=CONTENT_TYPE, metadata=to_metadata(facts)
        )


def begin_small(
    repository: OpenRepository, mint: int, data: bytes, facts: Facts
) -> tuple[Entry, Coroutine[None, None, None]]:
    """Begins a small object, which no job holds. Returns its entry, and a coroutine that stores it. Until that is done,
    no event may name the entry."""
    path = object_path(repository.ids.ksuid(repository.clock.wall()))
    metadata = to_metadata(facts)
    return repository.small_objects.begin(path, data, mint=mint, content_type=CONTENT_TYPE, metadata=metadata)
