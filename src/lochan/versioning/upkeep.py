"""Upkeep of a branch's staging, in the background: compaction, and the covering tree over many tombstones (S2, S3).

Neither blocks writers. The event is valid only while every input still exists. If a commit or a reset was quicker, the
new files are garbage, and nothing else has happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lochan.errors import Conflict, Gone, LochanError, NotFound, Refused
from lochan.failpoints import fp
from lochan.formats.record import Actor
from lochan.formats.repository_events import Compacted
from lochan.formats.run import RunRef
from lochan.staging import compaction, covering_tree
from lochan.staging.compaction import LIMITS, CompactionLimits
from lochan.staging.layers import Layers
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.branch import BranchState

if TYPE_CHECKING:
    import asyncio  # a command that only reads does not import the event loop

SELF = Actor("lochan", "upkeep", "")


async def compact(repository: OpenRepository, branch: str, limits: CompactionLimits = LIMITS) -> bool:
    """Does one step of compaction. Returns False if there is nothing to do, or if another process was quicker."""
    refs, mint = await repository.refs()
    found = refs.find_branch(branch)
    chosen = compaction.plan(found.layers, limits) if found else None
    if found is None or chosen is None:
        return False
    tree = await repository.tree(refs.commit(found.head))
    made = compaction.compact(chosen, found.layers, repository.runs, tree.has_many)
    outputs = await repository.runs.write_cut(made.changes(), made.level, mint)
    fp("compact.runs_written")
    head = found.head if made.dropped else ""
    inputs = made.inputs
    event = Compacted(branch, found.incarnation, inputs.spans, inputs.runs, outputs, head, read_at=mint)
    landed = await _landed(repository, event)
    if landed:
        repository.runs.forget(layer for layer in chosen.layers if isinstance(layer, RunRef))
    return landed


async def cover(repository: OpenRepository, branch: str, limits: CompactionLimits = LIMITS) -> bool:
    """Makes the tree over the lowest runs, if readers need one. Returns False if it exists, or if another process was
    quicker."""
    refs, mint = await repository.refs()
    found = refs.find_branch(branch)
    if found is None:
        return False
    head = refs.commit(found.head)
    chosen = covering_tree.plan(found.layers, head.tree_file, limits)
    if chosen is None:
        return False
    made = await covering_tree.make(chosen, await repository.tree(head), repository.trees, repository.runs, mint)
    fp("cover.tree_written")
    event = Compacted(branch, found.incarnation, (), (), (), found.head, read_at=mint, over=made)
    return await _landed(repository, event)


async def _landed(repository: OpenRepository, event: Compacted) -> bool:
    try:
        await repository.submit(SELF, event)
    except (Refused, NotFound, Conflict, Gone):
        return False
    fp("compact.landed")
    return True


class StagingUpkeep:
    """Compacts the branches that `touched` names in the background, one at a time."""

    def __init__(self, repository: OpenRepository, limits: CompactionLimits = LIMITS) -> None:
        self._repository = repository
        self._limits = limits
        self._due: set[str] = set()
        self._looked_at: BranchState | None = None
        self._looked: tuple[int, str] = 0, ""  # the record up to which it was, and its name
        self._task: asyncio.Task[None] | None = None

    def touched(self, branch: str) -> None:
        """Notes that the branch was written to. This is cheap: it reads counters in the state that this process has
        folded."""
        look = self._repository.journal.tail.state.number, branch
        if look == self._looked:  # many writes arrive together, and one test is enough
            return
        self._looked = look
        refs = self._repository.folded()
        found = refs.find_branch(branch)
        if found is None or found is self._looked_at:
            return
        self._looked_at = found
        if not self._has_work(found.layers, refs.commit(found.head).tree_file):
            return
        self._due.add(branch)
        if self._task is None:
            import asyncio

            self._task = asyncio.create_task(self._work())

    async def close(self) -> None:
        if self._task is not None:
            await self._task

    def _has_work(self, layers: Layers, base: str) -> bool:
        planned = compaction.plan(layers, self._limits) or covering_tree.plan(layers, base, self._limits)
        return planned is not None

    async def _work(self) -> None:
        try:
            while self._due:
                branch = self._due.pop()
                while await compact(self._repository, branch, self._limits):
                    pass
                await cover(self._repository, branch, self._limits)
        except LochanError as error:  # the next write tries again, and no request has failed
            self._repository.journal.schema.alarm(f"the staging of a branch was not compacted: {error}")
        finally:
            self._task = None


def attach(repository: OpenRepository) -> OpenRepository:
    """Keeps the repository's staging small from now on. `close` waits for the work that is under way."""
    upkeep = StagingUpkeep(repository)
    repository.staged, repository.closing = upkeep.touched, upkeep.close
    return repository
