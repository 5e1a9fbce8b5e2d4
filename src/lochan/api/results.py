"""Results of verbs: frozen, with the same names in Python and in JSON (`as_json`)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.engines.duckdb.load.load import LoadCommit
    from lochan.formats import commit as stored
    from lochan.formats.pool_settings import PoolSettings
    from lochan.formats.repository_events import Protection
    from lochan.versioning.repositories import Repository as StoredRepository
    from lochan.versioning.state.branch import BranchState as StoredBranch
    from lochan.versioning.state.branch import Stash
    from lochan.versioning.state.workspaces import WorkspaceState as StoredWorkspace

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PLAIN = frozenset((str, int, float, bool, type(None)))  # most values; a look for an abstract class takes longer


class Result(msgspec.Struct, frozen=True, kw_only=True):
    def as_json(self) -> dict[str, Any]:
        """Returns the result for `json.dumps`; times are RFC 3339 in UTC."""
        found = {name: _json_value(getattr(self, name)) for name in self.__struct_fields__}
        config = self.__struct_config__  # if a verb has several kinds of results, the tag names the kind
        return {str(config.tag_field): config.tag, **found} if config.tag is not None else found

    def _repr_html_(self) -> str:
        from lochan.api.shown import struct_html

        return struct_html(self)


class Commit(Result, frozen=True, kw_only=True):
    id: str
    parents: tuple[str, ...]
    author: str
    committer: str
    date: datetime
    message: str
    metadata: Mapping[str, str]
    tree: str
    generation: int  # one more than the greatest of the parents'; 0 for a first commit

    @classmethod
    def of(cls, id: str, commit: stored.Commit) -> Commit:
        return cls(
            id=id,
            parents=commit.parents,
            author=commit.author,
            committer=commit.committer,
            date=moment(commit.date),
            message=commit.message,
            metadata=commit.metadata,
            tree=commit.tree,
            generation=commit.generation,
        )


class BranchInfo(Result, frozen=True, kw_only=True):
    name: str
    head: str
    default: bool  # whether it is the repository's default branch
    staged: bool  # whether something is staged on it
    hidden: bool  # whether lists of branches leave it out
    date: datetime  # of the head, as is the message
    message: str

    @classmethod
    def of(cls, branch: StoredBranch, head: stored.Commit, default: str) -> BranchInfo:
        return cls(
            name=branch.name,
            head=branch.head,
            default=branch.name == default,
            staged=not branch.layers.empty,
            hidden=branch.hidden,
            date=moment(head.date),
            message=head.message,
        )


class TagInfo(Result, frozen=True, kw_only=True):
    name: str
    commit: str
    date: datetime
    message: str


class PoolInfo(Result, frozen=True, kw_only=True):
    """How a pool sorts and keeps its rows."""

    keys: tuple[str, ...]
    nulls: str  # first, last
    size: int  # of data objects, in bytes
    times: tuple[str, ...]
    primary_key: tuple[str, ...]

    @classmethod
    def of(cls, settings: PoolSettings) -> PoolInfo:
        from lochan.formats.pool_settings import path_text

        return cls(
            keys=tuple(map(str, settings.keys)),
            nulls="first" if settings.nulls_first else "last",
            size=settings.size_bytes,
            times=tuple(map(path_text, settings.times)),
            primary_key=tuple(map(path_text, settings.primary_key)),
        )

    @property
    def first_key_is_time(self) -> bool:
        """Whether the first field that rows are sorted by is declared as a time."""
        return bool(self.keys) and _path_of(self.keys[0]) in self.times


class RepositoryInfo(Result, frozen=True, kw_only=True):
    name: str
    id: str
    kind: str  # files, pool
    default_branch: str
    created: datetime
    created_by: str
    metadata: Mapping[str, str]
    pool: PoolInfo | None = None  # only of a pool
    storage: str = ""  # where its files lie; empty if they are in the lake
    credentials: str = ""  # the name of the profile that opens its storage; empty for the lake's own

    def as_json(self) -> dict[str, Any]:
        """Returns the repository as JSON, without `pool` if there is none, and without the storage if it is the
        lake's."""
        found = super().as_json()
        if self.pool is None:
            del found["pool"]
        for name in ("storage", "credentials"):
            if not found[name]:
                del found[name]
        return found

    @classmethod
    def of(cls, found: StoredRepository) -> RepositoryInfo:
        return cls(
            name=found.name,
            id=found.id,
            kind=found.kind,
            default_branch=found.default_branch,
            created=moment(found.created),
            created_by=found.created_by,
            metadata=found.metadata,
            pool=None if found.pool is None else PoolInfo.of(found.pool),
            storage=found.storage,
            credentials=found.credentials,
        )


class ProtectionRule(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule that protects branches whose names match a pattern."""

    pattern: str
    blocked: tuple[str, ...]  # stage, commit, revert, merge, rewrite
    mergers: tuple[str, ...] = ()  # the only users who may merge; without any, everybody may
    linear: bool = False  # commits with two parents are refused
    pull: bool = False  # they change only by pull requests
    approvals: int = 0  # how many a pull request needs
    checks: tuple[str, ...] = ()  # names of checks that must have succeeded for the head of its source
    keep_stale: bool = False  # an approval counts for later commits of the source too

    @classmethod
    def of(cls, found: Protection) -> ProtectionRule:
        return cls(
            pattern=found.pattern,
            blocked=found.blocked,
            mergers=found.mergers,
            linear=found.linear,
            pull=found.pull,
            approvals=found.approvals,
            checks=found.checks,
            keep_stale=found.keep_stale,
        )


class StashInfo(Result, frozen=True, kw_only=True):
    id: str
    branch: str
    head: str  # of the branch, when it was stashed
    changes: int
    date: datetime
    user: str
    message: str

    @classmethod
    def of(cls, found: Stash) -> StashInfo:
        return cls(
            id=found.id,
            branch=found.branch,
            head=found.head,
            changes=found.layers.count,
            date=moment(found.time),
            user=found.user,
            message=found.message,
        )


class WorkspaceInfo(Result, frozen=True, kw_only=True):
    id: str
    branch: str
    ref: str  # `branch+id`: the ref by which it is read and written like a branch
    fork: str  # the commit that it was opened on
    user: str
    date: datetime
    note: str
    added: tuple[str, ...]  # globs of what will be committed
    path: str  # where its files are: a folder of this machine, or a URL

    @classmethod
    def of(cls, found: StoredWorkspace, path: str) -> WorkspaceInfo:
        return cls(
            id=found.id,
            branch=found.branch,
            ref=found.ref,
            fork=found.fork,
            user=found.user,
            date=moment(found.time),
            note=found.note,
            added=tuple(found.added),
            path=path,
        )


class RebaseResult(Result, frozen=True, kw_only=True):
    head: str
    replayed: int | None  # the number of commits; None if it was done before, under the same key
    dropped: int | None  # those that changed nothing any more


class BlameResult(Result, frozen=True, kw_only=True):
    path: str
    commit: Commit  # the commit that gave the object its present content


class LogEntry(Result, frozen=True, kw_only=True):
    """A commit of a whole history."""

    commit: Commit
    matches: bool  # whether it matches the request


class BisectStep(Result, frozen=True, kw_only=True):
    """The state of the search for the first bad commit."""

    test: Commit | None  # the one to be tested next; None if nothing is left to be tested
    rounds: int  # the approximate number of tests that are left
    candidates: tuple[str, ...]  # the first bad commit is one of these
    found: tuple[Commit, ...]  # the candidates themselves, once nothing is left to be tested


class LoadFault(Result, frozen=True, kw_only=True):
    text: str  # what is wrong, and where
    near: str  # the input there; empty if it cannot be shown


class LoadResult(Result, frozen=True, kw_only=True):
    commit: str
    rows: int
    bytes: int  # of the data objects that were written
    faults: int  # inputs that were no rows, and were left out or kept, as the options say
    objects: tuple[str, ...] = ()  # ids of the data objects that were written
    first_faults: tuple[LoadFault, ...] = ()
    note: str = ""  # that the pool was created, and how it is sorted
    unparsed_times: dict[str, int] = {}  # of fields declared as times: how many values are no times, and stay strings

    @classmethod
    def of(cls, loaded: LoadCommit, note: str = "") -> LoadResult:
        return cls(
            commit=loaded.commit,
            rows=loaded.rows,
            bytes=loaded.size_bytes,
            faults=loaded.faults.count,
            objects=tuple(path.removesuffix(".parquet") for path in loaded.paths),
            first_faults=tuple(LoadFault(text=str(each), near=each.near) for each in loaded.faults.first),
            note=note,
            unparsed_times=loaded.unparsed_times,
        )


class PoolSummary(Result, frozen=True, kw_only=True):
    """The contents of a branch of a pool."""

    branch: str
    head: str
    objects: int
    rows: int
    bytes: int
    min: Any  # the parts of the least key, as a list; None if no row has the key
    max: Any
    keyless: int  # rows without the key


class DeleteResult(Result, frozen=True, kw_only=True):
    head: str
    rows: int
    objects: int


def _path_of(key: str) -> str:
    return key.removesuffix(":desc").removesuffix(":asc")


def _json_value(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    match value:
        case datetime():
            return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
        case Result():
            return value.as_json()
        case list() | tuple():
            return [_json_value(each) for each in value]
        case Mapping():
            return {key: _json_value(each) for key, each in value.items()}
        case _:
            return value


def moment(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def microseconds(moment: datetime) -> int:
    """Returns microseconds since 1970. Raises Invalid for a time without a zone."""
    if moment.tzinfo is None:
        raise Invalid(f"{moment} has no time zone", hint="give it one, such as datetime(…, tzinfo=UTC)")
    return (moment - _EPOCH) // timedelta(microseconds=1)
