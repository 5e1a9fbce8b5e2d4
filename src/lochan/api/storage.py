"""How the bytes of one repository are stored: equal blocks kept once, sparse files rewritten, objects as one file each.

None of this changes an object or a commit: readers find the same bytes elsewhere, by aliases. Files that are no longer
needed are removed by the next garbage collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lochan.api.collection import CollectionJob
from lochan.api.options import DEFAULT_ENGINE, EngineOptions
from lochan.api.results import Result

if TYPE_CHECKING:
    from lochan.api.session import Session
    from lochan.engines.spark.progress import Listener
    from lochan.versioning.collection.equal_blocks import DuplicateBlocks

BELOW = 0.5  # the share of live bytes in a file below which it is rewritten


class DedupeResult(Result, frozen=True, kw_only=True):
    blocks: int  # all blocks of the repository
    bytes: int
    duplicates: int  # blocks whose bytes another block has too
    duplicate_bytes: int
    freed_bytes: int  # the part of these bytes that the next garbage collection frees
    packed_bytes: int  # the part of these bytes in files with other live bytes, freed when the files are rewritten
    damaged: tuple[str, ...]  # addresses of damaged blocks; nothing was aliased to them


class RepackResult(Result, frozen=True, kw_only=True):
    files: int
    bytes: int  # the size of these files
    copied_bytes: int  # the live bytes in them
    freed_bytes: int  # freed by the next garbage collection
    left: int  # files that are as empty, and cannot be rewritten
    damaged: tuple[str, ...]  # addresses of files that were left, because a block in them is damaged


class LeftObject(Result, frozen=True, kw_only=True):
    path: str
    reason: str


class CoalesceResult(Result, frozen=True, kw_only=True):
    objects: int  # the number of objects that are one file each now
    bytes: int
    left: tuple[LeftObject, ...]  # objects that stay as they are


class DanglingBlock(Result, frozen=True, kw_only=True):
    address: str
    offset: int
    size: int
    reason: str  # gone, short
    paths: tuple[str, ...]  # some paths that name it


class DanglingResult(Result, frozen=True, kw_only=True):
    checked: int  # blocks
    blocks: tuple[DanglingBlock, ...]


class Storage:
    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self.name = name

    def __repr__(self) -> str:
        return f"<Storage {self.name}>"

    async def duplicates(
        self, engine: EngineOptions = DEFAULT_ENGINE, *, progress: Listener | None = None
    ) -> DedupeResult:
        """Returns blocks with equal bytes, over all live commits, and what `dedupe` would save. Changes nothing.
        `progress` is called with its progress."""
        from lochan.jobs.collection.run import dedupe_report

        async with self._session.opened(self.name) as repository:
            found = await dedupe_report(repository, self._session.lake.place, **self._job(engine, progress))
        return _dedupe_result(found)

    async def dedupe(self, engine: EngineOptions = DEFAULT_ENGINE, *, progress: Listener | None = None) -> DedupeResult:
        """Keeps equal blocks once. The one that is kept is read and checked first. Equal data objects of a pool share
        one file; no row changes. Raises Refused if others collect garbage all the time."""
        from lochan.jobs.collection.run import dedupe

        async with self._session.opened(self.name) as repository:
            made = await dedupe(repository, self._session.lake.place, **self._job(engine, progress))
        return _dedupe_result(made)

    def _job(self, engine: EngineOptions, progress: Listener | None) -> CollectionJob:
        from lochan.jobs.collection.run import CollectJobOptions

        options = CollectJobOptions(engine.engine, engine.limits, self._session.spark(engine.master), progress)
        return CollectionJob(actor=self._session.actor, options=options)

    async def sparse_files(self, below: float = BELOW) -> RepackResult:
        """Returns the files of which less than that share is alive, and what `repack` would do. Changes nothing. Raises
        Refused for a pool."""
        from lochan.versioning.collection.repack import repack_report

        async with self._session.opened(self.name) as repository:
            found = await repack_report(repository, below)
        return RepackResult(
            files=len(found.files),
            bytes=found.bytes,
            copied_bytes=found.live_bytes,
            freed_bytes=found.bytes - found.live_bytes,
            left=found.left,
            damaged=(),
        )

    async def repack(self, below: float = BELOW) -> RepackResult:
        """Moves the live bytes of such files to new ones. Every block is checked as it is copied. Raises Refused for a
        pool, or if others collect garbage all the time."""
        from lochan.versioning.collection.repack import repack

        async with self._session.opened(self.name) as repository:
            made = await repack(repository, below, actor=self._session.actor)
        return RepackResult(
            files=made.files,
            bytes=made.copied_bytes + made.freed_bytes,
            copied_bytes=made.copied_bytes,
            freed_bytes=made.freed_bytes,
            left=made.left,
            damaged=made.damaged,
        )

    async def coalesce(self, ref: str, path: str) -> CoalesceResult:
        """Writes objects of many blocks as one file each: that path, or all paths that begin with it if it ends with a
        slash or is empty. Raises Corrupt or Gone for an object that cannot be read."""
        from lochan.versioning.collection.coalesce import coalesce

        async with self._session.opened(self.name) as repository:
            made = await coalesce(repository, ref, path, actor=self._session.actor)
        left = (LeftObject(path=path, reason=reason) for path, reason in made.left)
        return CoalesceResult(objects=made.objects, bytes=made.bytes, left=tuple(left))

    async def dangling(self) -> DanglingResult:
        """Returns the blocks that something names and that the store does not have. Reads no bodies. Raises Corrupt for
        a tree that cannot be read."""
        from lochan.versioning.collection.dangling import dangling_blocks

        async with self._session.opened(self.name) as repository:
            found = await dangling_blocks(repository)
        blocks = (DanglingBlock(**each.span._asdict(), reason=each.reason, paths=each.paths) for each in found.found)
        return DanglingResult(checked=found.checked, blocks=tuple(blocks))


def _dedupe_result(found: DuplicateBlocks) -> DedupeResult:
    return DedupeResult(
        blocks=found.blocks,
        bytes=found.bytes,
        duplicates=len(found.aliases),
        duplicate_bytes=found.duplicate_bytes,
        freed_bytes=found.freed_bytes,
        packed_bytes=found.packed_bytes,
        damaged=tuple(sorted({block.address for block in found.damaged})),
    )
