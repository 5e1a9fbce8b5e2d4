"""Results of verbs about objects: the objects themselves, uploads of them, and differences between two commits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from lochan.api.results import Result, moment
from lochan.errors import LochanError

if TYPE_CHECKING:
    from pyarrow import Table

    from lochan.formats.entry import Entry
    from lochan.tree import merge as trees
    from lochan.tree.diff import DiffCounts, Difference
    from lochan.versioning.revisions.diff import Uncommitted
    from lochan.versioning.state.uploads import OpenUpload, UploadPart


class ObjectInfo(Result, frozen=True, kw_only=True):
    path: str
    size: int
    mtime: datetime
    checksum: str  # MD5 in hex; empty if the bytes were never read as a whole
    etag: str
    content_type: str
    metadata: Mapping[str, str]
    checksums: Mapping[str, str] = {}  # S3's additional ones, in base64 by algorithm

    def as_json(self) -> dict[str, Any]:
        """Returns the object as JSON, without `checksums` if there are none."""
        found = super().as_json()
        if not self.checksums:
            del found["checksums"]
        return found

    @classmethod
    def of(cls, entry: Entry) -> ObjectInfo:
        return cls(
            path=entry.path,
            size=entry.size,
            mtime=moment(entry.mtime),
            checksum=entry.checksum,
            etag=entry.etag,
            content_type=entry.content_type,
            metadata=own_metadata(entry),
            checksums=object_checksums(entry),
        )


def own_metadata(entry: Entry) -> Mapping[str, str]:
    """Returns the metadata that the user has given."""
    if not entry.metadata:
        return entry.metadata  # true of most files, for which nothing of pools is imported
    from lochan.pools.objects import users_metadata

    return users_metadata(entry)


def object_checksums(entry: Entry) -> Mapping[str, str]:
    """Returns the checksums without other facts about the entry's file."""
    if not entry.checksums:
        return entry.checksums
    from lochan.versioning.bodies.checksums import ALGORITHMS

    return {name: value for name, value in entry.checksums.items() if name in ALGORITHMS}


class Address(Result, frozen=True, kw_only=True):
    """An address where a client may put the bytes of an object directly."""

    token: str  # an argument of `link_address`, which takes it once
    address: str  # an address in the lake
    url: str  # where the bytes are to be put
    expires: datetime
    presigned: str = ""  # a URL that takes the bytes by PUT without keys of the store; empty if there is none

    def as_json(self) -> dict[str, Any]:
        """Returns the address as JSON, without `presigned` if there is none."""
        found = super().as_json()
        if not self.presigned:
            del found["presigned"]
        return found


class PresignedUrl(Result, frozen=True, kw_only=True):
    """A URL that lets anybody who has it read the object until it expires."""

    url: str
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
    next: str | None  # the `after` of the next page; None on the last page


class ObjectTable(NamedTuple):
    """A page as an Arrow table, for callers that need a few columns of many objects: path, size, mtime (microseconds
    since 1970), checksum, etag, content_type."""

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
    checksum: str  # the algorithm of the checksums of its parts; empty if there is none
    checksum_type: str  # COMPOSITE, FULL_OBJECT

    @property
    def branch(self) -> str:
        """The branch, or the branch of the workspace."""
        return self.ref.partition("+")[0]

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
            number=found.number, size=found.size, etag=found.etag, date=moment(found.time), checksums=found.checksums
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


class WorkspaceChange(Result, frozen=True, kw_only=True):
    path: str
    kind: str  # added, removed, changed
    before: int | None  # its size, if there was an object
    after: int | None
    added: bool  # whether it is part of what will be committed


class ChangeCount(Result, frozen=True, kw_only=True):
    """The number of paths that differ, and the bytes of the objects that are on one side only, or different there."""

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
    """A path that both sides of a merge have changed in different ways. None stands for no object."""

    path: str
    base: Side | None
    ours: Side | None
    theirs: Side | None


class FolderResult(Result, frozen=True, kw_only=True):
    """The result of a verb on a whole folder."""

    objects: int
    bytes: int


class UploadResult(FolderResult, frozen=True, kw_only=True):
    skipped: int = 0  # files that existed already, when an upload was resumed


class DownloadResult(FolderResult, frozen=True, kw_only=True):
    skipped: int  # objects that cannot be files here


# The conflicts that an error is about, one by one. The error itself names only the first of them.


def has_conflicts(error: LochanError) -> bool:
    """Returns whether the error has conflicts: from a merge, a revert, a cherry-pick, a rebase, or a workspace's
    commit."""
    return hasattr(error, "merged") or hasattr(error, "conflicts")


async def conflicts_of(error: LochanError) -> AsyncIterator[Conflict]:
    """Yields the conflicts in path order. REQUIRES: `has_conflicts`, and the lake is still open."""
    from lochan.tree.merge import conflicts_of as decoded

    for conflict in getattr(error, "conflicts", ()):  # from a server, which sends the first of them
        yield conflict
    if not hasattr(error, "merged"):
        return
    merged: trees.MergeResult = error.merged
    if merged.conflicts <= merged.first.num_rows:
        for each in decoded(merged.first):
            yield _conflict(each)
        return
    async for table in error.every():  # type: ignore[attr-defined]  # too many to be held at once
        for each in decoded(table):
            yield _conflict(each)


def _conflict(found: trees.MergeConflict) -> Conflict:
    return Conflict(path=found.path, base=Side.of(found.base), ours=Side.of(found.ours), theirs=Side.of(found.theirs))
