"""What verbs give back: frozen, with one spelling in Python and in JSON (`as_json`)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.formats import commit as stored
    from lochan.formats.entry import Entry
    from lochan.tree.diff import Difference
    from lochan.versioning.diff import Uncommitted
    from lochan.versioning.repositories import Repository as StoredRepository
    from lochan.versioning.state.workspaces import WorkspaceState as StoredWorkspace

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Result(msgspec.Struct, frozen=True, kw_only=True):
    def as_json(self) -> dict[str, Any]:
        """For `json.dumps`; times are RFC 3339 in UTC."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


class ObjectInfo(Result, frozen=True, kw_only=True):
    path: str
    size: int
    mtime: datetime
    checksum: str  # MD5 in hex; empty where nobody has read the bytes as a whole
    etag: str
    content_type: str
    metadata: Mapping[str, str]

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
        )


class ObjectPage(Result, frozen=True, kw_only=True):
    objects: tuple[ObjectInfo, ...]
    prefixes: tuple[str, ...]  # what objects have in common up to the delimiter, each once
    next: str | None  # the `after` of the next page; None: that was all


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


class TagInfo(Result, frozen=True, kw_only=True):
    name: str
    commit: str


class RepositoryInfo(Result, frozen=True, kw_only=True):
    name: str
    id: str
    kind: str  # files, pool
    default_branch: str
    created: datetime
    created_by: str
    metadata: Mapping[str, str]

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
        )


class WorkspaceInfo(Result, frozen=True, kw_only=True):
    id: str
    branch: str
    ref: str  # `branch+id`, by which it is read and written like a branch
    fork: str  # the commit that it was opened on
    user: str
    date: datetime
    note: str

    @classmethod
    def of(cls, found: StoredWorkspace) -> WorkspaceInfo:
        return cls(
            id=found.id,
            branch=found.branch,
            ref=found.ref,
            fork=found.fork,
            user=found.user,
            date=moment(found.time),
            note=found.note,
        )


class FolderResult(Result, frozen=True, kw_only=True):
    """What a verb on a whole folder has done."""

    objects: int
    bytes: int


class LoadResult(Result, frozen=True, kw_only=True):
    commit: str
    rows: int
    bytes: int  # of the data objects that were written
    faults: int  # inputs that were no rows, and left out because the load was told to
    unparsed_times: dict[str, int] = {}  # of fields declared as times: how many values say none, and are strings


def moment(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def microseconds(moment: datetime) -> int:
    """Raises Invalid for one without a zone."""
    if moment.tzinfo is None:
        raise Invalid(f"{moment} has no time zone", hint="give it one, such as datetime(…, tzinfo=UTC)")
    return (moment - _EPOCH) // timedelta(microseconds=1)
