"""What verbs give back: frozen, with one spelling in Python and in JSON (`as_json`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from lochan.errors import Invalid

if TYPE_CHECKING:
    from pyarrow import Table

    from lochan.engines.duckdb.load.load import LoadCommit
    from lochan.formats import commit as stored
    from lochan.formats.entry import Entry
    from lochan.formats.pool_settings import PoolSettings
    from lochan.tree.diff import DiffCounts, Difference
    from lochan.versioning.repositories import Repository as StoredRepository
    from lochan.versioning.revisions.diff import Uncommitted
    from lochan.versioning.state.branch import BranchState as StoredBranch
    from lochan.versioning.state.branch import Stash
    from lochan.versioning.state.uploads import OpenUpload, UploadPart
    from lochan.versioning.state.workspaces import WorkspaceState as StoredWorkspace

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Result(msgspec.Struct, frozen=True, kw_only=True):
    def as_json(self) -> dict[str, Any]:
        """For `json.dumps`; times are RFC 3339 in UTC."""
        return {name: _plain(getattr(self, name)) for name in self.__struct_fields__}


class ObjectInfo(Result, frozen=True, kw_only=True):
    path: str
    size: int
    mtime: datetime
    checksum: str  # MD5 in hex; empty where nobody has read the bytes as a whole
    etag: str
    content_type: str
    metadata: Mapping[str, str]
    checksums: Mapping[str, str] = {}  # S3's additional ones, in base64 by algorithm

    def as_json(self) -> dict[str, Any]:
        """Without `checksums` where there are none."""
        found = super().as_json()
        if not self.checksums:
            del found["checksums"]
        return found

    @classmethod
    def of(cls, entry: Entry) -> ObjectInfo:
        from lochan.pools.objects import users_metadata

        return cls(
            path=entry.path,
            size=entry.size,
            mtime=moment(entry.mtime),
            checksum=entry.checksum,
            etag=entry.etag,
            content_type=entry.content_type,
            metadata=users_metadata(entry),
            checksums=object_checksums(entry),
        )


def object_checksums(entry: Entry) -> Mapping[str, str]:
    """Without what an entry knows of its file besides."""
    if not entry.checksums:
        return entry.checksums
    from lochan.versioning.bodies.checksums import ALGORITHMS

    return {name: value for name, value in entry.checksums.items() if name in ALGORITHMS}


class Address(Result, frozen=True, kw_only=True):
    """Where somebody may put the bytes of an object, without us."""

    token: str  # for `link_address`, once
    address: str  # in the lake
    url: str  # where the bytes are to be put
    expires: datetime


class Block(Result, frozen=True, kw_only=True):
    """Bytes of an object in a file of the lake, or outside it."""

    address: str
    offset: int
    size: int
    sha256: str


class ObjectDetails(Result, frozen=True, kw_only=True):
    info: ObjectInfo
    headers: Mapping[str, str]
    checksums: Mapping[str, str]
    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, entry: Entry) -> ObjectDetails:
        blocks = (
            Block(address=each.address, offset=each.offset, size=each.size, sha256=each.sha256.hex())
            for each in entry.blocks
        )
        return cls(info=ObjectInfo.of(entry), headers=entry.headers, checksums=entry.checksums, blocks=tuple(blocks))


class ObjectPage(Result, frozen=True, kw_only=True):
    objects: tuple[ObjectInfo, ...]
    prefixes: tuple[str, ...]  # what objects have in common up to the delimiter, each once
    next: str | None  # the `after` of the next page; None: that was all


class ObjectTable(NamedTuple):
    """A page as an Arrow table, for who needs a few columns of many objects: path, size, mtime (microseconds since
    1970), checksum, etag, content_type."""

    objects: Table
    prefixes: Sequence[str]
    next: str | None


class UploadInfo(Result, frozen=True, kw_only=True):
    """An upload in parts that is open."""

    id: str
    ref: str  # a branch, or a workspace as `branch+id`
    path: str
    user: str
    date: datetime
    checksum: str  # the algorithm that parts are summed by; empty: none
    checksum_type: str  # COMPOSITE, FULL_OBJECT

    @classmethod
    def of(cls, found: OpenUpload) -> UploadInfo:
        opened = found.opened
        return cls(
            id=found.id,
            ref=f"{opened.branch}+{opened.workspace}" if opened.workspace else opened.branch,
            path=opened.path,
            user=found.user,
            date=moment(found.time),
            checksum=opened.checksum,
            checksum_type=opened.checksum_type,
        )


class PartInfo(Result, frozen=True, kw_only=True):
    number: int
    size: int
    etag: str
    date: datetime
    checksums: Mapping[str, str]

    @classmethod
    def of(cls, found: UploadPart) -> PartInfo:
        return cls(
            number=found.number,
            size=found.size,
            etag=found.etag,
            date=moment(found.time),
            checksums=found.checksums,
        )


class Commit(Result, frozen=True, kw_only=True):
    id: str
    parents: tuple[str, ...]
    author: str
    committer: str
    date: datetime
    message: str
    metadata: Mapping[str, str]
    tree: str

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
        )


class Side(Result, frozen=True, kw_only=True):
    """An object on one side of a difference."""

    size: int
    checksum: str

    @classmethod
    def of(cls, entry: Entry | None) -> Side | None:
        return None if entry is None else cls(size=entry.size, checksum=entry.checksum)


class Change(Result, frozen=True, kw_only=True):
    path: str
    kind: str  # added, removed, changed
    left: Side | None
    right: Side | None

    @classmethod
    def of(cls, difference: Difference) -> Change:
        left, right = Side.of(difference.left), Side.of(difference.right)
        return cls(path=difference.path, kind=difference.kind, left=left, right=right)


class StagedChange(Result, frozen=True, kw_only=True):
    path: str
    kind: str  # added, removed, changed
    size: int

    @classmethod
    def of(cls, change: Uncommitted) -> StagedChange:
        return cls(path=change.path, kind=change.kind, size=change.size)


class BranchInfo(Result, frozen=True, kw_only=True):
    name: str
    head: str
    default: bool  # whether it is the repository's default branch
    staged: bool  # whether something is staged on it
    date: datetime  # of the head, as is the message
    message: str

    @classmethod
    def of(cls, branch: StoredBranch, head: stored.Commit, default: str) -> BranchInfo:
        return cls(
            name=branch.name,
            head=branch.head,
            default=branch.name == default,
            staged=not branch.layers.empty,
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
        """Whether the first field that rows are sorted by is declared to be a time."""
        return bool(self.keys) and _path_of(self.keys[0]) in self.times


class RepositoryInfo(Result, frozen=True, kw_only=True):
    name: str
    id: str
    kind: str  # files, pool
    default_branch: str
    created: datetime
    created_by: str
    metadata: Mapping[str, str]
    pool: PoolInfo | None = None  # of a pool alone

    def as_json(self) -> dict[str, Any]:
        """Without `pool` where there is none."""
        found = super().as_json()
        if self.pool is None:
            del found["pool"]
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
        )


class ProtectionRule(Result, frozen=True, kw_only=True):
    """What may not be done to branches whose names fit a pattern."""

    pattern: str
    blocked: tuple[str, ...]  # stage, commit, rewrite


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
    ref: str  # `branch+id`, by which it is read and written like a branch
    fork: str  # the commit that it was opened on
    user: str
    date: datetime
    note: str
    added: tuple[str, ...]  # globs of what is to be committed
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


class WorkspaceChange(Result, frozen=True, kw_only=True):
    path: str
    kind: str  # added, removed, changed
    before: int | None  # its size, if there was an object
    after: int | None
    added: bool  # whether it is among what is to be committed


class ChangeCount(Result, frozen=True, kw_only=True):
    """How many paths differ, and the bytes of the objects that are only on one side, or other there."""

    added: int
    removed: int
    changed: int
    bytes_added: int
    bytes_removed: int

    @classmethod
    def of(cls, counts: DiffCounts) -> ChangeCount:
        return cls(
            added=counts.added,
            removed=counts.removed,
            changed=counts.changed,
            bytes_added=counts.bytes_added,
            bytes_removed=counts.bytes_removed,
        )


class Conflict(Result, frozen=True, kw_only=True):
    """A path that both sides of a merge have changed, and not alike; None: there is no object."""

    path: str
    base: Side | None
    ours: Side | None
    theirs: Side | None


class RebaseResult(Result, frozen=True, kw_only=True):
    head: str
    replayed: int | None  # commits; None: it was done before, under the same key
    dropped: int | None  # those that changed nothing any more


class BlameResult(Result, frozen=True, kw_only=True):
    path: str
    commit: Commit  # that made the object what it is


class LogEntry(Result, frozen=True, kw_only=True):
    """A commit of a whole history."""

    commit: Commit
    matches: bool  # whether it is one that was asked for


class BisectStep(Result, frozen=True, kw_only=True):
    """How far the search for the first bad commit has come."""

    test: Commit | None  # the one to be tested next; None: nothing is left to be tested
    rounds: int  # tests to go, about
    candidates: tuple[str, ...]  # the first bad commit is one of these
    found: tuple[Commit, ...]  # the candidates themselves, once nothing is left to be tested


class FolderResult(Result, frozen=True, kw_only=True):
    """What a verb on a whole folder has done."""

    objects: int
    bytes: int


class UploadResult(FolderResult, frozen=True, kw_only=True):
    skipped: int = 0  # files that were there already, when an upload was resumed


class DownloadResult(FolderResult, frozen=True, kw_only=True):
    skipped: int  # objects that no file could be made of


class LoadFault(Result, frozen=True, kw_only=True):
    text: str  # what is wrong, and where
    near: str  # the input there; empty where it cannot be shown


class LoadResult(Result, frozen=True, kw_only=True):
    commit: str
    rows: int
    bytes: int  # of the data objects that were written
    faults: int  # inputs that were no rows, and left out or kept because the load was told to
    objects: tuple[str, ...] = ()  # ids of the data objects that were written
    first_faults: tuple[LoadFault, ...] = ()
    note: str = ""  # that the pool was created, and by what it is sorted
    unparsed_times: dict[str, int] = {}  # of fields declared as times: how many values say none, and are strings

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
    """What a branch of a pool holds."""

    branch: str
    head: str
    objects: int
    rows: int
    bytes: int
    min: Any  # the parts of the least key, as a list; None: no row has the key
    max: Any
    keyless: int  # rows without the key


class DeleteResult(Result, frozen=True, kw_only=True):
    head: str
    rows: int
    objects: int


def _path_of(key: str) -> str:
    return key.removesuffix(":desc").removesuffix(":asc")


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
        case Result():
            return value.as_json()
        case list() | tuple():
            return [_plain(each) for each in value]
        case Mapping():
            return {key: _plain(each) for key, each in value.items()}
        case _:
            return value


def moment(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def microseconds(moment: datetime) -> int:
    """Raises Invalid for one without a zone."""
    if moment.tzinfo is None:
        raise Invalid(f"{moment} has no time zone", hint="give it one, such as datetime(…, tzinfo=UTC)")
    return (moment - _EPOCH) // timedelta(microseconds=1)
