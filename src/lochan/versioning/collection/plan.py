"""A plan: the files that were written before the last plan and that nothing names any more (G2).

It begins with an event. From then on no event can newly name a file that was minted before the cut, and no event that
was derived from an earlier state can land. So what the state at that event does not name stays unnamed, whatever is
written meanwhile: the list is made once, and lands at the first try (docs/design/0013-collection-on-spark.md).

    append `plan-begun` ──▶ mark what that state names ──▶ list the store, write what is dead ──▶ append `planned`
"""

from collections.abc import Sequence
from typing import NamedTuple

from lochan.errors import Refused
from lochan.failpoints import fp
from lochan.formats import plan_list
from lochan.formats.collection_events import PlanBegun, PlanEnded, Planned
from lochan.formats.events import Event
from lochan.formats.metarange import TreeRef
from lochan.formats.plan_list import PlanHead
from lochan.formats.record import Actor
from lochan.versioning.collection.embedded import EmbeddedCollection
from lochan.versioning.collection.engine import CollectedFiles, CollectionEngine
from lochan.versioning.collection.journal_names import RECORDS, journal_names, mint_of_tree
from lochan.versioning.collection.marks import CollectionLook
from lochan.versioning.collection.reasons import as_totals
from lochan.versioning.collection.roots import Roots, RootScan
from lochan.versioning.collection.store_clock import age_of, hours, store_time
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.refs import Refs

_EXPIRED_MAX = 2_000  # the newest expired commits, whose trees are read for reasons
_DAY_S = 86_400.0
NEVER = 1 << 62


class CollectionLimits(NamedTuple):
    grace_s: float = _DAY_S  # between two plans, and between a plan and its sweep; measured by the store's clock
    share_max: float = 0.5  # of a repository's bytes; more is deleted only if it is confirmed
    confirmed: bool = False
    records: int = RECORDS  # the number of the journal's newest records that are read for reasons


STANDARD = CollectionLimits()


class CollectionPlan(NamedTuple):
    number: int  # 0 for a preview
    file: str
    head: PlanHead


async def preview(
    repository: OpenRepository,
    lake: str,
    limits: CollectionLimits = STANDARD,
    *,
    engine: CollectionEngine | None = None,
) -> CollectionPlan:
    """Returns what a plan would list if everything that is older than the grace had been written before its cut. It
    changes nothing."""
    look = await _with_journal(repository, await preview_look(repository, limits), limits)
    found = await (engine or EmbeddedCollection(repository)).collect(look, write=False)
    return CollectionPlan(0, "", _head(lake, look, found, 0))


async def preview_look(repository: OpenRepository, limits: CollectionLimits) -> CollectionLook:
    now = await store_time(repository.store, repository.repository.id)
    refs, _ = await repository.refs()
    age_s = max(limits.grace_s, refs.collection.retention.block_days * _DAY_S)
    return await look_at(repository, NEVER, until=round((now - age_s) * 1e6))


async def plan(
    repository: OpenRepository,
    lake: str,
    limits: CollectionLimits = STANDARD,
    *,
    actor: Actor,
    engine: CollectionEngine | None = None,
) -> CollectionPlan:
    """Makes a plan. Raises Refused if another plan is under way, or the last one is too young to be the cut of this
    one; raises Corrupt or Gone if something that is alive cannot be read."""
    cut = await check_next(repository, limits)
    look = await _begin(repository, cut, actor)
    fp("plan.begun")
    look = await _with_journal(repository, look._replace(until=await _until(repository)), limits)
    found = await (engine or EmbeddedCollection(repository)).collect(look, write=True)
    head = _head(lake, look, found, look.marked)
    file, data = plan_list.encode_head(head)
    await repository.store.put(f"{repository.repository.id}/{file}", data)
    fp("plan.listed")
    number = await repository.submit(actor, Planned(cut, look.marked, file, look.marked))
    fp("plan.landed")
    return CollectionPlan(number, file, head)


async def _with_journal(repository: OpenRepository, look: CollectionLook, limits: CollectionLimits) -> CollectionLook:
    included = set(look.expired)
    unread = (mint_of_tree(each) for each in _expired_trees(repository.folded()) if each not in included)
    journal = await journal_names(repository, look.seed, look.expired, max(unread, default=-1), limits.records)
    return look._replace(journal=journal)


async def _until(repository: OpenRepository) -> int | None:
    """Returns the time, by the store's clock, after which files are not candidates, if a rule keeps dangling files for
    longer than a plan does. Otherwise returns None."""
    refs, _ = await repository.refs()
    days = refs.collection.retention.block_days
    if not days:
        return None
    return round((await store_time(repository.store, repository.repository.id) - days * _DAY_S) * 1e6)


async def check_next(repository: OpenRepository, limits: CollectionLimits) -> int:
    """Returns the cut of the next plan. Raises Refused, as `plan` does."""
    refs, _ = await repository.refs()
    if refs.collection.running:
        raise Refused(
            f"the plan {refs.collection.running} is neither swept nor abandoned",
            hint="`lochan gc sweep REPO` sweeps it, and `lochan gc abandon REPO` gives it up",
        )
    cut = refs.collection.plan
    await _check_cut(repository, refs, limits)
    return cut


async def _begin(repository: OpenRepository, cut: int, actor: Actor) -> CollectionLook:
    """Appends the beginning, and looks at exactly the state that it is added to. Most of that state is read before, so
    that the append has to look only at what is new."""
    look, scan = await look_and_scan(repository, cut)
    beginning = _Beginning(look, scan)
    number = await repository.submit_decided(actor, beginning.decide)
    return beginning.look._replace(marked=number)


class _Beginning:
    def __init__(self, before: CollectionLook, scan: RootScan) -> None:
        self._before = before
        self._scan = scan
        self.look = before

    def decide(self, refs: Refs) -> Sequence[Event]:
        """Returns the event, and records what the state names. It may be called with states that are never appended;
        the last call is for the one that is."""
        roots, since = self._before.roots, self._scan.peek(refs)
        self.look = self._before._replace(
            roots=Roots(
                (*roots.trees, *since.trees),
                (*roots.runs, *since.runs),
                roots.blocks | since.blocks,
                roots.files | since.files,
                roots.folders | since.folders,
            ),
            aliases=refs.collection.alias_names,
        )
        return (PlanBegun(self._before.cut),)


async def look_at(repository: OpenRepository, cut: int, *, until: int | None = None) -> CollectionLook:
    """Returns a look at the newest state."""
    return (await look_and_scan(repository, cut))[0]._replace(until=until)


async def look_and_scan(repository: OpenRepository, cut: int) -> tuple[CollectionLook, RootScan]:
    scan = RootScan(repository.repository.id)
    refs, number = await repository.refs()
    roots = scan.look(refs)
    names = refs.collection.alias_names
    return CollectionLook(
        repository.repository.id, cut, number, roots, names, tuple(_expired_trees(refs)[:_EXPIRED_MAX])
    ), scan


def _expired_trees(refs: Refs) -> list[TreeRef]:
    """Returns the trees of expired commits, the newest first."""
    expired = [refs.recorded(id) for id in refs.collection.expired() if id in refs.commit_table]
    newest = sorted(expired, key=lambda commit: -commit.date)
    return [TreeRef(commit.tree, commit.tree_file) for commit in newest if commit.tree_file]


def _head(lake: str, look: CollectionLook, found: CollectedFiles, begun: int) -> PlanHead:
    return PlanHead(
        plan_list.VERSION,
        lake,
        look.repository,
        0 if look.cut == NEVER else look.cut,
        look.marked,
        found.files,
        found.bytes,
        begun,
        found.dead_files,
        found.dead_bytes,
        found.parts,
        as_totals(found.totals),
    )


async def abandon(repository: OpenRepository, *, actor: Actor) -> int:
    """Abandons the plan that is under way, and returns its number. The files that it listed are never named again, and
    a later plan lists them once more. Raises Refused if there is no such plan."""
    refs, _ = await repository.refs()
    number = refs.collection.running
    if not number:
        raise Refused("no plan is under way", hint="`lochan gc plan REPO` makes one")
    await repository.submit(actor, PlanEnded(number, "abandoned"))
    return number


async def _check_cut(repository: OpenRepository, refs: Refs, limits: CollectionLimits) -> None:
    """Raises Refused if the last plan is too young: readers and writers from before it must be gone (G2)."""
    last = refs.collection.plan
    age = await age_of(repository, refs.collection.list_of(last)) if last else limits.grace_s
    if age < limits.grace_s:
        raise Refused(
            f"the last plan is {hours(age)} old, and the grace between two is {hours(limits.grace_s)}",
            hint=f"plan again in {hours(limits.grace_s - age)}",
        )
