"""Brings all objects of a job to a branch by one commit, and finds that commit if the job is repeated.

A program that cannot know whether its commit landed, because a driver was killed or an answer was lost, repeats it
under the same name: (job, batch), which the commit carries. Every try looks for that name, on the head that it is
computed on, and its commit is valid on that head alone. So it is exact with any number of writers.

An overwrite may drop only the rows that its own rows were made of (ReplaceGuard). A change of single rows replaces the
objects that it has read, on any head that still has all of them: rows that others have added meanwhile stay."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from lochan.errors import AlreadyExists, Conflict, NotFound, PreconditionFailed
from lochan.formats.commit import Commit
from lochan.formats.entry import Entry
from lochan.formats.record import Actor
from lochan.jobs.job_entries import JobEntries, job_entries
from lochan.jobs.messages import RowCounts, TaskMessage
from lochan.journal.keys import CarriedOut
from lochan.pools.commit_objects import Swap, check_present
from lochan.pools.json_row import Fault
from lochan.tree.diff import diff
from lochan.tree.tree import Tree
from lochan.versioning import bulk
from lochan.versioning.heads.joins import MoveBase
from lochan.versioning.heads.moves import NOTHING, CommitMessage, MovePlan, move
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.graph import LookUp, by_generation, only_left

JOB, BATCH = "lochan-job", "lochan-batch"  # in a commit's metadata, stored on disk
_SHOWN = 3

Removal = Callable[[MoveBase, Tree], Awaitable[Swap]]  # returns what the same commit removes, and what is left of it


class ReplaceGuard(NamedTuple):
    """The rows that an overwrite may drop. With neither commits nor a head, it may replace everything. It can be
    pickled."""

    read: tuple[str, ...] = ()  # commits that the rows were read at: the head may have nothing that one of them lacks
    head: str = ""  # the alternative: the head that the caller names
    empty: bool = False  # whether nothing may exist there at all

    async def check(self, repository: OpenRepository, branch: str, head: str, under: str = "") -> None:
        """Checks that the head may be replaced. `under` is the path that is replaced. Raises PreconditionFailed or
        AlreadyExists."""
        if self.empty and not await _is_empty(repository, head, under):
            raise already_there(f"{repository.repository.name}@{branch}{f'/{under}' if under else ''}")
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
        except NotFound:  # it belongs to no known history
            return True
        async with aclosing(diff(repository.trees, left, right, under)) as differences:
            async for _ in differences:
                return True
        return False


async def _is_empty(repository: OpenRepository, head: str, under: str) -> bool:
    tree = await repository.tree(repository.folded().commit(head))
    async with aclosing(tree.scan(under)) as batches:
        async for _ in batches:
            return False
    return True


def already_there(place: str) -> AlreadyExists:
    return AlreadyExists(f"there are rows at {place} already", hint="write with mode append or overwrite, or ignore")


NO_GUARD = ReplaceGuard()


class BatchName(NamedTuple):
    """The name of a commit that must land once: a query and the number of its batch, or a job made for the occasion."""

    job: str
    batch: int = 0
    since: str = ""  # a head of the branch from before the job was named; "" if it is unknown

    def metadata(self) -> dict[str, str]:
        return {JOB: self.job, BATCH: str(self.batch)}

    def batch_of(self, commit: Commit) -> int | None:
        """Returns the batch of a commit that this job made, or None for a commit of another job."""
        return int(commit.metadata[BATCH]) if commit.metadata.get(JOB) == self.job else None


def no_paths() -> pa.StringArray:
    return pa.array([], pa.string())


@dataclass(frozen=True, slots=True)
class LandResult:
    commit: str  # "" if there was nothing to land
    rows: int = 0  # rows that were written, or changed
    objects: int = 0
    size_bytes: int = 0  # bytes that executors wrote
    faults: int = 0
    first_faults: tuple[Fault, ...] = ()
    again: bool = False  # whether it had landed before, and these objects were not needed
    put_bytes: int = 0  # bytes that executors put to the store, by their own count
    unparsed_times: dict[str, int] = field(default_factory=dict)  # by field: the number of values that are not times
    paths: pa.StringArray = field(default_factory=no_paths, compare=False, repr=False)  # of the objects, in no order
    changed: RowCounts | None = None  # only for a statement that changes single rows

    @classmethod
    async def of(cls, commit: str, entries: JobEntries) -> LandResult:
        total = entries.total
        return cls(
            commit,
            total.rows if total.changed is None else total.changed.total,
            entries.objects,
            total.size_bytes,
            total.faults,
            total.first_faults,
            put_bytes=total.put_bytes,
            unparsed_times=entries.unparsed_times,
            paths=await entries.paths(),
            changed=total.changed,
        )


async def land(
    repository: OpenRepository,
    branch: str,
    messages: Iterable[TaskMessage],
    message: CommitMessage = NOTHING,
    *,
    actor: Actor,
    once: BatchName | None = None,
    replace: bool = False,
    under: Sequence[str] = ("",),
    removal: Removal | None = None,
    guard: ReplaceGuard = NO_GUARD,
    why: str = "load",
    closes: tuple[str, ...] = (),
) -> LandResult:
    """Adds the objects to the current head. With `replace`, they replace all that it has `under` some paths, if the
    guard permits that; with a `removal`, they replace the objects that it removes on the head; or they replace the
    objects that the tasks have rewritten, if all of these still exist. Raises the errors of a move, PreconditionFailed,
    AlreadyExists, ConcurrentCommit, and Gone if garbage was collected twice since the job began and nothing held its
    files open. `closes` names the job that held them open."""
    async with job_entries(repository, messages) as entries:
        total = entries.total
        _check_replaced_once(total.removed)
        if not entries.objects and not total.removed and not (replace and under):
            return LandResult("", faults=total.faults, first_faults=total.first_faults, changed=total.changed)
        request = _Landing(branch, message, once, tuple(under) if replace else (), removal, guard, why, closes)
        return await _land(repository, request, entries, actor)


class _Landing(NamedTuple):
    """The arguments of `land`."""

    branch: str
    message: CommitMessage
    once: BatchName | None
    under: tuple[str, ...]  # the paths whose objects are replaced
    removal: Removal | None
    guard: ReplaceGuard
    why: str
    closes: tuple[str, ...]

    @property
    def commit_message(self) -> CommitMessage:
        if self.once is None:
            return self.message
        return self.message._replace(metadata={**self.message.metadata, **self.once.metadata()})


async def _land(repository: OpenRepository, request: _Landing, entries: JobEntries, actor: Actor) -> LandResult:
    once, total = request.once, entries.total

    async def compute(on: MoveBase) -> MovePlan:
        found = None if once is None else find_commit(repository.folded().recorded, on.id, once)
        if found is not None:
            raise _Again(found)
        for each in request.under:
            await request.guard.check(repository, request.branch, on.id, each)
        await check_present(repository, on, total.removed)
        return await _plan(repository, request, entries, on)

    try:
        commit = await move(repository, request.branch, request.why, compute, request.commit_message, actor=actor)
    except _Again as again:
        return LandResult(again.commit, again=True, put_bytes=total.put_bytes)
    except CarriedOut as before:
        return LandResult(before.result, again=True, put_bytes=total.put_bytes)
    return await LandResult.of(commit, entries)


async def _plan(repository: OpenRepository, request: _Landing, entries: JobEntries, on: MoveBase) -> MovePlan:
    message = _default_message(request.why, entries.total)
    if request.removal is None:
        gone = await _paths_gone(repository, on, request.under, entries.total.removed)
        return MovePlan(await _tree(repository, on, entries, gone), (on.id,), message, new=entries.new(request.closes))
    swap = await request.removal(on, await repository.tree(on.head))
    async with job_entries(repository, [entries.total, TaskMessage(tuple(swap.added))]) as every:
        gone = pa.array(sorted(entry.path for entry in swap.removed), pa.string())
        return MovePlan(await _tree(repository, on, every, gone), (on.id,), message, new=every.new(request.closes))


def _default_message(why: str, done: TaskMessage) -> str:
    if done.changed is not None:
        return f"{why.capitalize()} rows: {done.changed}"
    return f"{why.capitalize()} {done.rows:,} row{'' if done.rows == 1 else 's'}"


def _check_replaced_once(removed: tuple[Entry, ...]) -> None:
    """Raises Conflict if two tasks have replaced the same object: its other rows would be kept twice."""
    if len({entry.path for entry in removed}) < len(removed):
        raise Conflict("two tasks have changed rows of one data object", hint="nothing was changed; run it again")


async def earlier_commit(repository: OpenRepository, branch: str, once: BatchName) -> str | None:
    """Returns the commit, if it landed before. Calling this first can save the work; None is no guarantee that the
    commit will not be found later."""
    refs, _ = await repository.refs()
    return find_commit(refs.recorded, refs.branch(branch).head, once)


def find_commit(look_up: LookUp, head: str, once: BatchName) -> str | None:
    """Returns the commit of that name in the history of the head.

    A job's batches come to a branch in their order. So the search ends at an earlier batch, and at a head that is older
    than the job, on the branch's own line, and on other lines below it."""
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


async def _tree(repository: OpenRepository, on: MoveBase, entries: JobEntries, gone: pa.StringArray) -> Tree:
    """Returns the tree with the entries, and without the paths that are gone, which ascend."""
    changes = entries.changes()
    if len(gone):
        changes = bulk.together_in_order(changes, gone)
    return await repository.trees.apply(await repository.tree(on.head), changes, on.mint)


async def _paths_gone(
    repository: OpenRepository, on: MoveBase, prefixes: Sequence[str], removed: Sequence[Entry]
) -> pa.StringArray:
    tree = await repository.tree(on.head)
    columns = [batch["path"] for each in prefixes async for batch in tree.scan(each)]
    columns += [pa.array([entry.path for entry in removed], pa.string())] if removed else []
    return pa.concat_arrays(columns).unique().sort() if columns else no_paths()


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
