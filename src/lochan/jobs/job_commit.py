"""All objects of a job come to a branch by one commit, and a job that is done again is found there.

Whoever cannot know whether their commit landed (a driver that was killed, an answer that was lost) does it again under
the same name: (job, batch), which the commit carries. It is looked for on every try, on the head that the try is
computed on, and the commit is valid on that head alone: so it is exact with any number of writers.

An overwrite may drop only what its rows were made of (ReplaceGuard). A change of single rows replaces the objects that
it has read, on any head that still has all of them: what others have added meanwhile stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from lochan.errors import Conflict, NotFound, PreconditionFailed
from lochan.formats.commit import Commit
from lochan.formats.entry import Entry
from lochan.formats.entry_table import table_of
from lochan.formats.record import Actor
from lochan.jobs.messages import RowCounts, TaskMessage, together
from lochan.journal.keys import CarriedOut
from lochan.pools.commit_objects import Swap, apply_swap, check_present, new_objects
from lochan.pools.facts import unparsed_times
from lochan.pools.json_row import Fault
from lochan.tree.diff import diff
from lochan.tree.tree import Tree
from lochan.versioning import bulk
from lochan.versioning.heads.joins import MoveBase
from lochan.versioning.heads.moves import NOTHING, CommitMessage, MovePlan, move
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.graph import LookUp, by_generation, only_left

JOB, BATCH = "lochan-job", "lochan-batch"  # in a commit's metadata, on somebody's disk
_SHOWN = 3


class ReplaceGuard(NamedTuple):
    """What an overwrite may drop. May be pickled. With neither, all may be replaced."""

    read: tuple[str, ...] = ()  # commits that the rows were read at: the head may have nothing that one of them lacks
    head: str = ""  # or the head that the caller names

    async def check(self, repository: OpenRepository, branch: str, head: str, under: str = "") -> None:
        """`under` is the path that is replaced. Raises PreconditionFailed."""
        if self.head:
            if head != self.head:
                raise _came_since(repository, branch, head, self.head, "is not at")
            return
        for commit in self.read:
            if commit != head and await self._has_more(repository, head, commit, under):
                raise _came_since(repository, branch, head, commit, "has moved since the rows were read at")

    async def _has_more(self, repository: OpenRepository, head: str, commit: str, under: str) -> bool:
        refs = repository.folded()
        try:
            if not only_left(refs.recorded, head, commit):
                return False
            if not under:
                return True
            left, right = [await repository.tree(refs.commit(each)) for each in (commit, head)]
        except NotFound:  # it is of no history that is known
            return True
        async with aclosing(diff(repository.trees, left, right, under)) as differences:
            async for _ in differences:
                return True
        return False


NO_GUARD = ReplaceGuard()


class BatchName(NamedTuple):
    """The name of what must land once: a query and the number of its batch, or a job made for the occasion."""

    job: str
    batch: int = 0
    since: str = ""  # a head of the branch from before the job was named; "": unknown

    def metadata(self) -> dict[str, str]:
        return {JOB: self.job, BATCH: str(self.batch)}

    def batch_of(self, commit: Commit) -> int | None:
        """Of a commit of the same job."""
        return int(commit.metadata[BATCH]) if commit.metadata.get(JOB) == self.job else None


@dataclass(frozen=True, slots=True)
class LandResult:
    commit: str  # "": there was nothing to land
    rows: int = 0  # that were written, or changed
    entries: tuple[Entry, ...] = ()
    size_bytes: int = 0  # that executors wrote
    faults: int = 0
    first_faults: tuple[Fault, ...] = ()
    again: bool = False  # it had landed before, and these objects were not needed
    put_bytes: int = 0  # that executors put to the store, as they counted it
    changed: RowCounts | None = None  # by a statement that changes single rows

    @property
    def unparsed_times(self) -> dict[str, int]:
        """Of fields declared as times: how many values say none, and were loaded as strings."""
        return unparsed_times(self.entries)


async def land(
    repository: OpenRepository,
    branch: str,
    messages: Iterable[TaskMessage],
    message: CommitMessage = NOTHING,
    *,
    actor: Actor,
    once: BatchName | None = None,
    replace: bool = False,
    under: str = "",
    guard: ReplaceGuard = NO_GUARD,
    why: str = "load",
) -> LandResult:
    """Adds the objects to whatever the head is, or puts them in place of all that it has `under` a path, if the guard
    lets that head be replaced; or in place of the objects that the tasks have replaced, if all of these are still
    there. Raises what a move raises, PreconditionFailed, ConcurrentCommit, and Gone where garbage was collected twice
    since the job began."""
    done = together(messages)
    _check_replaced_once(done.removed)
    if not done.entries and not done.removed and not replace:
        return LandResult("", faults=done.faults, first_faults=done.first_faults, changed=done.changed)

    async def compute(on: MoveBase) -> MovePlan:
        found = None if once is None else found_again(repository.folded().recorded, on.id, once)
        if found is not None:
            raise _Again(found)
        if replace:
            await guard.check(repository, branch, on.id, under)
        await check_present(repository, on, done.removed)
        tree = await _tree(repository, on, Swap(done.removed, done.entries), under if replace else None)
        return MovePlan(tree, (on.id,), _default_message(why, done), new=new_objects(done.entries))

    if once is not None:
        message = message._replace(metadata=_with(message.metadata, once.metadata()))
    try:
        commit = await move(repository, branch, why, compute, message, actor=actor)
    except _Again as again:
        return LandResult(again.commit, again=True, put_bytes=done.put_bytes)
    except CarriedOut as before:
        return LandResult(before.result, again=True, put_bytes=done.put_bytes)
    return LandResult(
        commit,
        done.rows if done.changed is None else done.changed.total,
        done.entries,
        done.size_bytes,
        done.faults,
        done.first_faults,
        put_bytes=done.put_bytes,
        changed=done.changed,
    )


def _default_message(why: str, done: TaskMessage) -> str:
    if done.changed is not None:
        return f"{why.capitalize()} rows: {done.changed}"
    return f"{why.capitalize()} {done.rows:,} row{'' if done.rows == 1 else 's'}"


def _check_replaced_once(removed: tuple[Entry, ...]) -> None:
    """Two tasks that had replaced one object would have kept its rows twice."""
    if len({entry.path for entry in removed}) < len(removed):
        raise Conflict("two tasks have changed rows of one data object", hint="nothing was changed; run it again")


async def landed_before(repository: OpenRepository, branch: str, once: BatchName) -> str | None:
    """The commit, if it landed: asked before the work is done, it saves it. That it did not is no promise."""
    refs, _ = await repository.refs()
    return found_again(refs.recorded, refs.branch(branch).head, once)


def found_again(look_up: LookUp, head: str, once: BatchName) -> str | None:
    """The commit of that name in the history of the head.

    A job's batches come to a branch in their order. So behind an earlier batch, or behind a head that is older than the
    job, on the branch's own line, there is nothing to be found; nor on other lines that end below."""
    line, lowest = head, 0
    for id, commit in by_generation(look_up, head):
        if commit.generation < lowest:
            return None
        batch = once.batch_of(commit)
        if batch == once.batch:
            return id
        if id == line:
            line = commit.parents[0] if commit.parents else ""
            if id == once.since or (batch is not None and batch < once.batch):
                lowest = commit.generation
    return None


class _Again(Exception):
    def __init__(self, commit: str) -> None:
        self.commit = commit


async def _tree(repository: OpenRepository, on: MoveBase, swap: Swap, replaced: str | None) -> Tree:
    if replaced is None:
        return await apply_swap(repository, on, swap)
    tree = await repository.tree(on.head)
    columns = [batch["path"] async for batch in tree.scan(replaced)]
    gone = pa.concat_arrays(columns) if columns else pa.array([], pa.string())
    return await repository.trees.apply(tree, bulk.together(table_of(swap.added), gone), on.mint)


def _with(left: Mapping[str, str], right: Mapping[str, str]) -> dict[str, str]:
    return {**left, **right}


def _came_since(repository: OpenRepository, branch: str, head: str, commit: str, reason: str) -> PreconditionFailed:
    refs = repository.folded()
    try:
        since = only_left(refs.recorded, head, commit)
    except NotFound:
        since = []
    shown = [f"{refs.recorded(each).message.partition(chr(10))[0]!r} ({each[:12]})" for each in since[:_SHOWN]]
    more = f", and {len(since) - _SHOWN:,} more" if len(since) > _SHOWN else ""
    what = f": {', '.join(shown)}{more}" if shown else ""
    name = f"{repository.repository.name}@{branch}"
    return PreconditionFailed(
        f"{name} {reason} {commit[:12]}, and an overwrite would drop what came since{what}",
        hint=f"read the rows again and write those; or replace what is there now with expect={head[:12]!r} "
        f"(in the data source .option('ifHead', {head[:12]!r}))",
    )
