"""Events of garbage collection, and of what is kept open against it. Stored on disk."""

from typing import ClassVar, NamedTuple

import msgspec

from lochan.formats.events import Event, Preparing


class Opened(Event, frozen=True):
    """A later event will name files that are written from now on: those of an address token, an upload or a job. That
    event closes this one, or it is abandoned."""

    type: ClassVar[str] = "opened"

    id: str
    kind: str  # link, upload, job, removal
    address: str = ""  # the file, or the folder of files
    branch: str = ""
    path: str = ""
    expires: int = 0  # microseconds since 1970; 0 for never

    @property
    def prepares(self) -> bool:
        return self.kind != "link"  # this event completes the request for an address; all other requests continue


class Abandoned(Preparing, frozen=True):
    type: ClassVar[str] = "abandoned"

    ids: tuple[str, ...]


class PlanBegun(Preparing, frozen=True):
    """A garbage collection is about to mark what is alive. From this number on, a first reference to a file minted
    before `cut` is refused, and so is every event derived from a state before it. So what the state at this number does
    not name, no later state can name."""

    type: ClassVar[str] = "plan-begun"

    cut: int  # the number of the plan before it


class Planned(Event, frozen=True):
    """A garbage collection's plan: the files on its list are dead from this number on. `cut` is the number of the plan
    before it (G2), `marked` the number of the state whose marks were followed. The plan is valid only if that is the
    number at which it began, or, for a plan without a `plan-begun`, if no record followed that state."""

    type: ClassVar[str] = "planned"

    cut: int
    marked: int
    list: str  # the file with the list
    begun: int = 0  # the number of its `plan-begun`; older plans have none


class PlanEnded(Event, frozen=True):
    """A plan was swept and reported, or abandoned. Until then no other plan may begin (G8)."""

    type: ClassVar[str] = "plan-ended"

    plan: int  # the number of its event
    how: str  # reported, abandoned


class Expired(Event, frozen=True):
    """Commits that nothing may name any more, and deleted branches that can no longer be restored (G6)."""

    type: ClassVar[str] = "expired"

    commits: tuple[str, ...] = ()
    branches: tuple[tuple[str, int], ...] = ()  # names and incarnations


class Aliased(Event, frozen=True):
    """Readers of `address` read `target` instead, which holds the same bytes (G7). This event is no longer written: it
    maps whole files, and a body that shares its file cannot be moved."""

    type: ClassVar[str] = "aliased"

    address: str
    target: str
    read_at: int
    checked: int = 0


class AliasNames(NamedTuple):
    """The aliases that a state names. It is not stored on disk."""

    tables: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()  # aliases of whole files, from before there were tables


class AliasTablesSet(Event, frozen=True):
    """From now on spans are read by these tables (G7, `formats/alias_table.py`). The writer has checked them against
    the tables `before` and the state `read_at`: the event is valid only while those are the tables, and under G4.

    With `marked`, the tables leave out aliases whose spans nothing names. Such an event is valid only if no record
    followed that number; from then on no event derived from an older state may land."""

    type: ClassVar[str] = "alias-tables-set"

    tables: tuple[str, ...]  # the tables' files, below the repository
    before: tuple[str, ...]
    read_at: int
    checked: int = 0
    marked: int = 0
    aliases: int = 0  # the number of aliases now, for people


class RetentionRule(msgspec.Struct, frozen=True, array_like=True):
    """The rule for branches whose names match the pattern. A commit is kept if either number keeps it. Fields are only
    ever added at the end."""

    pattern: str  # a pattern of branch names, with * and ?
    days: float = 0  # keeps what the branch showed within so many days; 0 if age keeps nothing
    commits: int = 0  # keeps so many of the newest commits on the branch's own line
    forever: bool = False  # keeps everything in its history, even if it is dropped elsewhere


class DropRule(msgspec.Struct, frozen=True, array_like=True):
    """Which live objects of a branch are dropped by a commit: objects below a prefix, or rows in a span of a pool's
    key. One of the conditions is given. Fields are only ever added at the end."""

    name: str  # the rule's name, which commits contain
    pattern: str  # a pattern of branch names, with * and ?
    prefix: str = ""  # a prefix of paths; empty for all paths
    low: str = ""  # a bound of a pool's key, as in a query; empty for none. Both bounds are included
    high: str = ""
    unwritten_days: float = 0  # drops what was not written for so long
    unread_days: float = 0  # drops what was neither read nor written for so long
    older_days: float = 0  # drops rows whose key, a time, is older
    never: bool = False  # keeps what the rules below it would drop


class RetentionSet(Event, frozen=True):
    """Replaces all rules. A branch follows the first rule that matches; one without a rule keeps its history. An object
    follows the first drop rule that matches; one without a rule stays."""

    type: ClassVar[str] = "retention-set"

    rules: tuple[RetentionRule, ...] = ()
    undo_days: float = 30  # how long a branch that was deleted or moved elsewhere can be brought back
    drops: tuple[DropRule, ...] = ()
    holds: tuple[str, ...] = ()  # patterns of branches: a path that one of them has is not dropped anywhere
    upload_days: float = 0  # uploads that were not continued for so long are aborted; 0 for never
    workspace_days: float = 0  # workspaces that were not touched for so long are dropped; 0 for never
    stash_days: float = 0  # stashes that are older are dropped; 0 for never
    block_days: float = 0  # files that nothing names are listed by a plan once they are so old
    readers: str = "server"  # server or noted: how all reads are known
    readers_since: int = 0  # when all readers were declared to note their reads: microseconds, by the store's clock
    default: int = 0  # the record of the lake's journal whose default rules these are; 0: the repository's own
    replaces_own: bool = False  # only default rules with this flag may replace rules of the repository's own


class DefaultRetentionSet(Event, frozen=True):
    """In the lake's journal: the rules of repositories that have none of their own. Each repository adopts them by an
    event in its own journal before it follows them."""

    type: ClassVar[str] = "default-retention-set"

    rules: RetentionSet
