"""A plan: the files that were written before the last plan and that nothing names any more (G2).

The list is exact for the state that the plan's event is added to. While others write, what came since is looked at
again, step by step. What the last step finds is compared with the list inside the append itself, so that a plan lands
beside any number of writers of single objects.

    list the store ──▶ mark ──▶ write the list ──▶ append, if what came meanwhile names nothing of the list
                         ▲                           │ else, or if it has to be read first
                         └───────────────────────────┘
"""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import ConcurrentCommit, Refused
from lochan.failpoints import fp
from lochan.formats import plan_list
from lochan.formats.collection_events import AliasNames, PlanEnded, Planned
from lochan.formats.events import Event
from lochan.formats.plan_list import PlanHead
from lochan.formats.record import Actor
from lochan.versioning.collection.listing import list_files
from lochan.versioning.collection.marks import LiveMarks
from lochan.versioning.collection.roots import Roots, RootScan
from lochan.versioning.collection.store_clock import age_of, hours, store_time
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.collection import Stale
from lochan.versioning.state.refs import Refs

_STEPS_MAX = 100
_DAY_S = 86_400.0
NEVER = 1 << 62


class CollectionLimits(NamedTuple):
    grace_s: float = _DAY_S  # between two plans, and between a plan and its sweep; measured by the store's clock
    share_max: float = 0.5  # of a repository's bytes; more is deleted only if it is confirmed
    confirmed: bool = False


STANDARD = CollectionLimits()


class DeadFiles(NamedTuple):
    """Files that nothing names, and how many there are in all."""

    head: PlanHead
    files: pa.Table  # PLAN_SCHEMA

    @property
    def bytes(self) -> int:
        return pc.sum(self.files["size"]).as_py() or 0


class CollectionPlan(NamedTuple):
    number: int
    file: str
    dead: DeadFiles


async def preview(repository: OpenRepository, lake: str, limits: CollectionLimits = STANDARD) -> DeadFiles:
    """What a plan would list if everything that is older than the grace had been written before its cut. Changes
    nothing."""
    now = await store_time(repository.store, repository.repository.id)
    found = await Collector.at(repository, lake, NEVER)
    refs, _ = await repository.refs()
    age_s = max(limits.grace_s, refs.collection.retention.block_days * _DAY_S)
    return found.dead(written_before(found.files, now - age_s))


def written_before(files: pa.Table, moment: float) -> pa.Table:
    """By the store's clock, in seconds since 1970."""
    return files.filter(pc.less_equal(files["modified"], pa.scalar(round(moment * 1e6), pa.timestamp("us", "UTC"))))


async def plan(
    repository: OpenRepository, lake: str, limits: CollectionLimits = STANDARD, *, actor: Actor
) -> CollectionPlan:
    """Raises Refused if another plan is under way, or the last one is too young to be the cut of this one."""
    refs, _ = await repository.refs()
    if refs.collection.running:
        raise Refused(
            f"the plan {refs.collection.running} is neither swept nor abandoned", hint="sweep it, or abandon it, first"
        )
    await _check_cut(repository, refs, limits)
    collector = await Collector.at(repository, lake, refs.collection.plan)
    if refs.collection.retention.block_days:  # a rule: dangling files wait for longer
        now = await store_time(repository.store, repository.repository.id)
        collector.files = written_before(collector.files, now - refs.collection.retention.block_days * _DAY_S)
    for _ in range(_STEPS_MAX):
        dead = collector.dead(collector.files)
        file, data = plan_list.encode(dead.head, dead.files)
        await repository.store.put(f"{repository.repository.id}/{file}", data)
        fp("plan.listed")
        try:
            number = await repository.submit_decided(actor, _Append(collector, dead, file).decide)
        except Stale:
            await collector.look_again()
            continue
        fp("plan.landed")
        return CollectionPlan(number, file, dead)
    raise Refused(f"others wrote meanwhile, {_STEPS_MAX} times in a row", hint="plan again when less is written")


async def abandon(repository: OpenRepository, *, actor: Actor) -> int:
    """What the plan listed is never named again, and is listed by a later plan once more. Raises Refused."""
    refs, _ = await repository.refs()
    number = refs.collection.running
    if not number:
        raise Refused("no plan is under way", hint="`lochan gc plan REPO` makes one")
    await repository.submit(actor, PlanEnded(number, "abandoned"))
    return number


async def _check_cut(repository: OpenRepository, refs: Refs, limits: CollectionLimits) -> None:
    """G2: readers and writers of the time before the last plan are gone by now."""
    last = refs.collection.plan
    age = await age_of(repository, refs.collection.list_of(last)) if last else limits.grace_s
    if age < limits.grace_s:
        raise Refused(
            f"the last plan is {hours(age)} old, and the grace between two is {hours(limits.grace_s)}",
            hint=f"plan again in {hours(limits.grace_s - age)}",
        )


class Collector:
    """The files of a repository, and the marks of those that are alive."""

    def __init__(self, repository: OpenRepository, lake: str, cut: int, files: pa.Table) -> None:
        self.repository = repository
        self.cut = cut
        self.files = files.filter(pc.less(files["mint"], cut))
        self.scan = RootScan(repository.repository.id)
        self.marks = LiveMarks(repository)
        self.names = AliasNames()
        self._lake = lake
        self._every = files
        self.marked = 0

    @classmethod
    async def at(cls, repository: OpenRepository, lake: str, cut: int) -> "Collector":
        made = cls(repository, lake, cut, await list_files(repository.store, repository.repository.id))
        await made.look_again()
        return made

    async def look_again(self) -> None:
        """Marks what came since the last look."""
        refs, _ = await self.repository.refs()
        first = not self.marked
        self.marked, names, roots = refs.collection.last, refs.collection.alias_names, self.scan.look(refs)
        while names != self.names:
            try:
                aliases = await self.repository.places.load(names)
            except ConcurrentCommit:
                refs, _ = await self.repository.refs()
                names = refs.collection.alias_names
                continue
            self.names = names
            if first:
                self.marks = LiveMarks(self.repository, aliases)
            else:
                self.marks.replace_aliases(aliases)
        await self.marks.add(roots)

    def dead(self, candidates: pa.Table) -> DeadFiles:
        sizes = self._every["size"]
        head = PlanHead(
            plan_list.VERSION,
            self._lake,
            self.repository.repository.id,
            0 if self.cut == NEVER else self.cut,
            self.marked,
            len(sizes),
            pc.sum(sizes).as_py() or 0,
        )
        return DeadFiles(head, self.marks.dead(candidates))


class _Append:
    """The plan's event, as long as nothing that came since the last look names a file of its list."""

    def __init__(self, collector: Collector, dead: DeadFiles, file: str) -> None:
        self._collector = collector
        self._file = file
        self._listed = set(dead.files["path"].to_pylist())

    def decide(self, refs: Refs) -> Sequence[Event]:
        """May be called with states that are never appended, so it remembers nothing."""
        roots = self._collector.scan.peek(refs)
        if roots.needs_reading or self._names(roots) or refs.collection.alias_names != self._collector.names:
            raise Stale("something came after what the plan has marked")
        return (Planned(self._collector.cut, refs.collection.last, self._file),)

    def _names(self, roots: Roots) -> bool:
        prefix = f"{self._collector.repository.repository.id}/"
        aliases = self._collector.marks.aliases
        named = {aliases.place(each).address.removeprefix(prefix) for each in roots.blocks}
        folders = tuple(each.removeprefix(prefix) for each in roots.folders)
        return not self._listed.isdisjoint(named) or any(path.startswith(folders) for path in self._listed)
