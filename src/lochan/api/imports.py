"""Files outside the lake that become objects of a branch, without a copy: once, or followed as they change."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from lochan.api.results import Result

if TYPE_CHECKING:
    from lochan.formats.record import Actor
    from lochan.versioning.heads.imports import ImportPlan
    from lochan.versioning.heads.moves import CommitMessage
    from lochan.versioning.open_repository import OpenRepository

Progress = Callable[[int], None]  # called with the number of further files that were listed


class ImportSource(msgspec.Struct, frozen=True):
    url: str  # of a folder or a prefix: s3://, gs://, az://, file://
    prefix: str = ""  # what its objects' paths are to begin with


class ImportResult(Result, frozen=True, kw_only=True):
    commit: str | None  # None: it was only tried
    added: int
    changed: int
    removed: int
    bytes: int


class ImportChange(Result, frozen=True, kw_only=True):
    path: str
    kind: str  # added, removed, changed
    before: int | None  # sizes
    after: int | None


async def gathered(
    repository: OpenRepository, sources: Sequence[ImportSource], progress: Progress | None
) -> ImportPlan:
    from lochan.versioning.heads.imports import ImportFolder, for_import

    return await for_import(repository, [ImportFolder(each.url, each.prefix) for each in sources], progress or _ignored)


async def followed(
    repository: OpenRepository, source: ImportSource, keep_removed: bool, progress: Progress | None
) -> ImportPlan:
    from lochan.versioning.heads.imports import ImportFolder, for_ingest

    at = ImportFolder(source.url, source.prefix)
    return await for_ingest(repository, at, keep_removed=keep_removed, seen=progress or _ignored)


async def land(
    repository: OpenRepository, branch: str, found: ImportPlan, message: CommitMessage, actor: Actor
) -> ImportResult:
    from lochan.versioning.heads.imports import bring_in

    landed = await bring_in(repository, branch, found, message, actor=actor)
    return ImportResult(commit=landed.commit, **landed.counts._asdict())


async def rehearse(repository: OpenRepository, branch: str, found: ImportPlan) -> ImportResult:
    from lochan.versioning.heads.imports import ImportCounts, differences

    counts = ImportCounts()
    async for part in differences(repository, branch, found):
        counts = counts.plus(part)
    return ImportResult(commit=None, **counts._asdict())


async def changes(repository: OpenRepository, branch: str, found: ImportPlan) -> AsyncIterator[ImportChange]:
    from lochan.tree.diff import REMOVED
    from lochan.versioning.heads.imports import differences

    async for part in differences(repository, branch, found):
        columns = (part.changes["path"], part.kinds, part.before, part.changes["size"])
        for path, kind, before, after in zip(*(column.to_pylist() for column in columns), strict=True):
            yield ImportChange(path=path, kind=kind, before=before, after=None if kind == REMOVED else after)


def _ignored(_: int) -> None:
    pass
