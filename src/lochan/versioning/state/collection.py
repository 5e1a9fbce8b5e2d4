"""The state of garbage collection: plans, files that are held open, aliases, and expired commits.

A file that a plan lists is dead for ever: from the plan on, the fold refuses a first reference to a file minted before
the plan's cut (G3), and every event derived from a state before the plan (G4)."""

from collections.abc import Iterable, Sequence

import msgspec

from lochan.errors import AlreadyExists, ConcurrentCommit, Gone, Invalid, NotFound, Refused
from lochan.formats.collection_events import (
    Abandoned,
    Aliased,
    AliasNames,
    AliasTablesSet,
    Opened,
    PlanBegun,
    PlanEnded,
    Planned,
    RetentionSet,
)
from lochan.formats.entry import Entry
from lochan.formats.run import RunRef
from lochan.journal.state import EventPosition
from lochan.journal.table import FoldTable, FoldTables
from lochan.versioning.state.expired_commits import ExpiredCommits
from lochan.versioning.state.retention_checks import check_retention
from lochan.versioning.state.rules import RefsRules

_ON = "on"
_CUT, _PLAN, _RUNNING, _LAST = "cut", "plan", "running", "last"
_BEGUN, _FENCE = "begun", "fence"
_DROPPED = "dropped"  # a name for the number of the last event that dropped aliases
_ENDINGS = ("reported", "abandoned")
LINK = "link"  # a client itself puts the file that is held open
JOB = "job"  # all files with one mint number: `<repository>/data/<mint>-`
REMOVAL = "removal"  # a deletion of a workspace's files by older versions, which no version makes any more


class Stale(ConcurrentCommit):
    """Garbage was collected since the state that the event was derived from. It has to be derived again."""


class HeldFile(msgspec.Struct, frozen=True, array_like=True):
    """A file that is held open. Stored in checkpoints: fields may only be added at the end."""

    number: int
    kind: str
    address: str
    branch: str
    path: str
    expires: int
    opened: int = 0  # microseconds since 1970, by the clock of the process that opened it; 0 if unknown


class DumpedCollection(msgspec.Struct, frozen=True, array_like=True):
    """The state in a checkpoint. Stored on disk: fields may only be added at the end."""

    numbers: dict[str, int] = {}
    held: dict[str, HeldFile] = {}
    aliases: dict[str, str] = {}
    expired: list[str] = []  # only in old checkpoints; now a bit for each commit, in DumpedRefs
    lists: dict[int, str] = {}
    retention: RetentionSet | None = None
    alias_tables: tuple[str, ...] = ()


class Collection(FoldTables):
    def __init__(self) -> None:
        self._numbers: FoldTable[str, int] = FoldTable()
        self._held: FoldTable[str, HeldFile] = FoldTable()
        self._aliases: FoldTable[str, str] = FoldTable()
        self._targets: FoldTable[str, str] = FoldTable()
        self._alias_tables: FoldTable[str, tuple[str, ...]] = FoldTable()
        self.expired_commits = ExpiredCommits()
        self._retention: FoldTable[str, RetentionSet] = FoldTable()
        self._lists: FoldTable[int, str] = FoldTable()  # the file with the list of each plan, by the plan's number

    # --- reading -----------------------------------------------------------------------------------------------------
    @property
    def cut(self) -> int:
        """The cut of the last plan: files that were minted before this number and are not named yet can no longer be
        named."""
        return self._numbers.get(_CUT) or 0

    @property
    def plan(self) -> int:
        """The number of the newest plan."""
        return self._numbers.get(_PLAN) or 0

    @property
    def running(self) -> int:
        """The number of the plan that is neither reported nor abandoned, or 0 if there is none."""
        return self._numbers.get(_RUNNING) or 0

    @property
    def last(self) -> int:
        """The number of the last record that had an event for this state."""
        return self._numbers.get(_LAST) or 0

    @property
    def begun(self) -> int:
        """The number at which a plan began that has not landed yet, or 0 if there is none."""
        return self._numbers.get(_BEGUN) or 0

    @property
    def fence(self) -> int:
        """The fence: an event derived from a state before this number may name files that a plan lists, or is about to
        list."""
        return self._numbers.get(_FENCE) or self.plan

    def list_of(self, plan: int) -> str:
        """Returns the file with the plan's list, below the repository, or "" if no event has named it."""
        return self._lists.get(plan) or ""

    def lists(self) -> list[tuple[int, str]]:
        """Returns every plan with the file of its list."""
        return sorted(self._lists.items())

    @property
    def retention(self) -> RetentionSet:
        return self._retention.get(_ON) or RetentionSet()

    @property
    def rules_set(self) -> RetentionSet | None:
        """The retention rules that were set here, or None if none were ever set."""
        return self._retention.get(_ON)

    def aliases(self) -> dict[str, str]:
        """Returns the aliases of whole files, which were made before there were alias tables."""
        return dict(self._aliases.items())

    @property
    def alias_tables(self) -> tuple[str, ...]:
        """The tables with the aliases of spans, below the repository."""
        return self._alias_tables.get(_ON) or ()

    @property
    def alias_names(self) -> AliasNames:
        """The names that a reader of the tables needs."""
        return AliasNames(self.alias_tables, tuple(sorted(self._aliases.items())))

    def held(self, id: str) -> HeldFile | None:
        return self._held.get(id)

    def all_held(self) -> list[tuple[str, HeldFile]]:
        return sorted(self._held.items())

    def removals(self, workspace: str) -> list[tuple[str, HeldFile]]:
        """Returns the deletions of the workspace's files that are under way."""
        held = ((id, each) for id, each in self._held.items() if each.kind == REMOVAL)
        return [(id, each) for id, each in held if each.address.endswith(f"/{workspace}/")]

    def alias(self, address: str) -> str:
        """Returns the address at which the bytes are read."""
        return self._aliases.get(address) or address

    @property
    def any_expired(self) -> bool:
        return bool(self.expired_commits)

    def expired(self) -> set[str]:
        return set(self.expired_commits)

    def has_expired(self, commit: str) -> bool:
        return commit in self.expired_commits

    # --- checks on others' events ------------------------------------------------------------------------------------
    def check_first(self, rules: RefsRules, mints: Iterable[int]) -> None:
        """Raises Gone for a first reference to a file minted before the cut (G3)."""
        cut = self.cut
        if cut and rules.first_references_are_young() and any(mint < cut for mint in mints):
            raise Gone("these bytes were written before the last garbage collection", hint="write them again")

    def check_data(self, rules: RefsRules, mints: Iterable[int]) -> None:
        """Raises Gone for a first reference to an old data file (G3), unless a job holds files of its mint number
        open."""
        old = {mint for mint in mints if mint < self.cut}
        if old:
            held = (each for _, each in self._held.items() if each.kind == JOB and each.address.endswith("-"))
            self.check_first(rules, old.difference(mint_of(each.address) for each in held))

    def check_derived(self, rules: RefsRules, read_at: int, checked: int) -> None:
        """Raises Stale for an event derived from a state before a plan (G4). An event derived before aliases were
        dropped may name a span that no alias leads to any more, so it is refused too."""
        if read_at < (self._numbers.get(_DROPPED) or 0) and rules.derived_events_are_fresh():
            raise Stale("aliases that nothing needed were dropped meanwhile", hint="try again")
        listed = checked and checked == self.plan and not self.begun
        if read_at < self.fence and not listed and rules.derived_events_are_fresh():
            raise Stale("garbage was collected meanwhile", hint="try again")

    def check_entries(
        self, rules: RefsRules, entries: Sequence[Entry], read_at: int, checked: int, closes: int
    ) -> None:
        if read_at:
            self.check_derived(rules, read_at, checked)
        elif self.cut and not closes:
            self.check_data(rules, (mint_of(block.address) for entry in entries for block in entry.blocks))

    def check_runs(self, rules: RefsRules, runs: Iterable[RunRef]) -> None:
        self.check_first(rules, (run.mint for run in runs))

    def check_closes(self, ids: tuple[str, ...]) -> None:
        for id in ids:
            if id not in self._held:
                raise Refused(f"{id} is not open: it was used already, or given up", hint="ask for a new one")

    # --- folding -----------------------------------------------------------------------------------------------------
    def saw(self, number: int) -> None:
        self._numbers.put(_LAST, number)

    def open(self, rules: RefsRules, event: Opened, at: EventPosition) -> str:
        """Holds files open. Files minted before the cut can no longer be held open, because a plan may list them
        (G3)."""
        if event.id in self._held:
            raise AlreadyExists(f"{event.id} is open already")
        if event.kind == JOB and event.address:  # its files may exist already, and a plan may have listed them
            self.check_first(rules, (mint_of(event.address),))
        if self.cut and event.address and _is_older(event.address, self.cut) and rules.first_references_are_young():
            raise Stale("garbage was collected meanwhile", hint="try again")
        self._held.put(
            event.id, HeldFile(at.number, event.kind, event.address, event.branch, event.path, event.expires, at.time)
        )
        return event.id

    def close(self, ids: tuple[str, ...]) -> None:
        for id in ids:
            self._held.drop(id)

    def abandon(self, event: Abandoned) -> None:
        self.check_closes(event.ids)
        self.close(event.ids)

    def begin(self, event: PlanBegun, at: EventPosition) -> int:
        """Begins a plan (G2, G8). A plan that began before and has not landed must begin again."""
        self._check_next(event.cut)
        for name, number in ((_CUT, event.cut), (_BEGUN, at.number), (_FENCE, at.number)):
            self._numbers.put(name, number)
        return at.number

    def draw(self, event: Planned, at: EventPosition) -> int:
        """Lands a plan (G2, G8). Raises Refused if another one has begun since, and Stale or Invalid if it has not
        marked the right state."""
        self._check_next(event.cut)
        if event.begun and event.begun != self.begun:
            raise Refused("another garbage collection has begun meanwhile", hint="plan again")
        if event.begun and event.marked != event.begun:
            raise Invalid("a plan marks the state at which it began")
        if not event.begun and event.marked < self.last:
            raise Stale("something came after what the plan has marked")
        fence = event.begun or at.number
        for name, number in ((_CUT, event.cut), (_PLAN, at.number), (_RUNNING, at.number), (_FENCE, fence)):
            self._numbers.put(name, number)
        self._numbers.put(_BEGUN, 0)
        self._lists.put(at.number, event.list)
        return at.number

    def _check_next(self, cut: int) -> None:
        if self.running:
            raise Refused("another garbage collection is under way", hint="wait for its report, or abandon it")
        if cut != self.plan:
            raise Invalid(f"the cut of a plan is the number of the plan before it: {self.plan}, not {cut}")

    def end(self, event: PlanEnded) -> None:
        if event.how not in _ENDINGS:
            raise Invalid(f"a plan is {' or '.join(_ENDINGS)}, not {event.how!r}")
        if event.plan != self.running:
            raise NotFound(f"no garbage collection {event.plan} is under way")
        self._numbers.put(_RUNNING, 0)

    def set_retention(self, event: RetentionSet) -> None:
        check_retention(event)
        before = self.rules_set
        if event.default and not event.replaces_own and before is not None and not before.default:
            raise Refused("this repository has retention rules of its own", hint="set them, or take the lake's")
        self._retention.put(_ON, event)

    def add_alias(self, rules: RefsRules, event: Aliased) -> None:
        """Adds an alias of a whole file (G7). The writer of the event has checked that the target is live, and G4 keeps
        that true."""
        self.check_derived(rules, event.read_at, event.checked)
        if event.address == event.target:
            raise Invalid("an address is no alias of itself")
        if event.address in self._aliases or event.target in self._aliases or event.address in self._targets:
            raise Refused("an alias leads straight to where the bytes are, and nothing leads to an alias")
        if self.alias_tables:
            raise Refused("this repository keeps its aliases in tables", hint="upgrade Lochan")
        self._aliases.put(event.address, event.target)
        self._targets.put(event.target, event.address)

    def set_alias_tables(self, rules: RefsRules, event: AliasTablesSet, at: EventPosition) -> int:
        """Sets the alias tables (G7). The writer has read and checked the tables. The fold, which reads nothing, checks
        that they are still the same."""
        if event.before != self.alias_tables and rules.aliases_need_their_tables():
            raise Stale("others have set aliases meanwhile", hint="try again")
        self.check_derived(rules, event.read_at, event.checked)
        if event.marked:
            if event.marked < self.last:
                raise Stale("something came after what was marked")
            self._numbers.put(_DROPPED, at.number)
        self._alias_tables.put(_ON, event.tables)
        return at.number

    def expire(self, commits: tuple[str, ...]) -> None:
        for commit in commits:
            self.expired_commits.add(commit)

    # --- checkpoints -------------------------------------------------------------------------------------------------
    def dump(self) -> DumpedCollection:
        return DumpedCollection(
            dict(self._numbers.items()),
            dict(self._held.items()),
            dict(self._aliases.items()),
            [],
            dict(self._lists.items()),
            self._retention.get(_ON),
            self.alias_tables,
        )

    def load(self, dumped: DumpedCollection) -> None:
        for name, number in dumped.numbers.items():
            self._numbers.put(name, number)
        for id, held in dumped.held.items():
            self._held.put(id, held)
        for address, target in dumped.aliases.items():
            self._aliases.put(address, target)
            self._targets.put(target, address)
        self.expire(tuple(dumped.expired))
        for plan, file in dumped.lists.items():
            self._lists.put(plan, file)
        if dumped.retention is not None:
            self._retention.put(_ON, dumped.retention)
        self._alias_tables.put(_ON, dumped.alias_tables)


def _is_older(address: str, cut: int) -> bool:
    """Returns whether the address was minted before the cut. Addresses without a number are no candidates of any
    plan."""
    try:
        return mint_of(address) < cut
    except Invalid:
        return False


def mint_of(address: str) -> int:
    """Returns the number in an address' folder, `<repository>/<kind>/<number>-<maker>/…`. A file outside the lake is
    never collected, so it always counts as young (G9). Raises Invalid for an address without a number."""
    if "://" in address:
        return _ALWAYS_YOUNG
    parts = address.split("/")
    number = parts[2].partition("-")[0] if len(parts) > 2 else ""
    if not number.isdecimal():
        raise Invalid(f"{address!r} is not an address in a lake")
    return int(number)


_ALWAYS_YOUNG = 1 << 62
