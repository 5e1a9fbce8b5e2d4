"""Converts an object of a lakeFS to an entry here.

    linked   its bytes stay where they are: the entry names the file in the bucket of the lakeFS
    copied   they come through the server's API, and are compared with the size and the MD5 that it reports

A file is linked only below the storage namespace of its repository: a server is not trusted if it names other files.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from lochan.concurrency import map_concurrently
from lochan.errors import Corrupt, Gone, Invalid, LochanError, NotFound, Refused
from lochan.formats.entry import STORE_ETAG, Entry
from lochan.versioning.bodies.outside_files import plain_etag
from lochan.versioning.bodies.write import Batch
from lochan.versioning.names import check_key

if TYPE_CHECKING:
    from lochan.migration.lakefs_server import LakefsServer, ServerObject, ServerRepository
    from lochan.tree.tree import Tree
    from lochan.versioning.open_repository import OpenRepository

LINK, AUTO = "link", "auto"
WAYS = (AUTO, LINK, "copy")
_LINKED_SCHEMES = ("s3://", "gs://", "az://")  # never a file of this machine: the server chooses the address
_AT_ONCE = 16
_LINK_HINT = "copy it (--bodies copy), or link what is there, too (--link-also URL)"
_MD5 = re.compile(r"[0-9a-f]{32}")


class BodiesWay(NamedTuple):
    way: str  # with `auto`, what may be linked is, unless the first such file of a place cannot be read
    also: tuple[str, ...] = ()  # prefixes outside the storage of the repository: a lakeFS may have imported from there


class ForeignObjects:
    """The objects of one repository."""

    def __init__(
        self, server: LakefsServer, source: ServerRepository, repository: OpenRepository, way: BodiesWay
    ) -> None:
        self._server = server
        self._source = source
        self._repository = repository
        self._below = tuple(f"{each.rstrip('/')}/" for each in (source.storage_namespace, *way.also))
        self._way = way.way
        self._can_link: dict[str, bool] = {}  # by the places that were tried
        self.linked = 0
        self.copied = 0
        self.bytes_copied = 0

    async def entries(
        self, commit: str, objects: Sequence[ServerObject], parents: Sequence[Tree], mint: int
    ) -> list[Entry]:
        """Returns an entry for each object, in the same order. `parents` are trees here that may have the same objects:
        those are not transferred again. Raises Invalid, Refused and Gone if an object that must be linked cannot be,
        and Corrupt for bytes that do not match the server's size or MD5."""
        for each in objects:
            check_key(each.path)
        made = {each.path: entry for each in objects if (entry := await _same(each, parents)) is not None}
        new = [each for each in objects if each.path not in made]
        linked: list[ServerObject] = []
        copied: list[ServerObject] = []
        for each in new:
            (linked if await self._is_linked(each) else copied).append(each)
        for some, brought in (linked, await self._link(linked)), (copied, await self._copy(commit, copied, mint)):
            made |= {each.path: _describe(entry, each) for each, entry in zip(some, brought, strict=True)}
        return [made[each.path] for each in objects]

    async def _is_linked(self, object: ServerObject) -> bool:
        if self._way != AUTO:
            return self._way == LINK
        place = self._place(object)
        if not place:
            return False
        if place not in self._can_link:
            try:
                await self._link_one(object)
                self._can_link[place] = True
            except LochanError:
                self._can_link[place] = False
        return self._can_link[place]

    def _place(self, object: ServerObject) -> str:
        """Returns the prefix below which the object may be linked, or an empty text if it may not be."""
        address = object.physical_address
        return next((each for each in self._below if address.startswith(each)), "") if _is_linkable(address) else ""

    async def _link(self, objects: Sequence[ServerObject]) -> list[Entry]:
        entries = await map_concurrently(self._link_one, objects, _AT_ONCE)
        self.linked += len(objects)
        return list(entries)

    async def _link_one(self, object: ServerObject) -> Entry:
        address = object.physical_address
        if not self._place(object):
            raise Refused(f"{object.path!r} is at {address}, outside the storage of the repository", hint=_LINK_HINT)
        outside = self._repository.outside
        if outside is None:
            raise Invalid("files outside the lake cannot be reached from here", hint=_LINK_HINT)
        try:
            linked = await outside.link(object.path, address)
        except NotFound as error:
            raise Gone(f"{object.path!r}: there is nothing at {address}", hint="the lakeFS has lost it") from error
        if linked.size != object.size_bytes:
            told = f"{object.path!r} has {object.size_bytes} bytes by the lakeFS"
            raise Corrupt(f"{told}, and {linked.size} at {address}")
        return linked

    async def _copy(self, commit: str, objects: Sequence[ServerObject], mint: int) -> list[Entry]:
        batch = Batch(self._repository.bodies, mint)

        async def one(object: ServerObject) -> None:
            await batch.write(object.path, self._read(commit, object))

        await map_concurrently(one, objects, _AT_ONCE)
        written = {each.path: each for each in await batch.finish()}
        for object in objects:
            told, found = object.checksum, written[object.path].checksum
            if _MD5.fullmatch(told) and told != found:
                raise Corrupt(f"{object.path!r} has the MD5 {told} by the lakeFS, but {found} came", hint="try again")
        self.copied += len(objects)
        self.bytes_copied += sum(each.size_bytes for each in objects)
        return [written[object.path] for object in objects]

    async def _read(self, commit: str, object: ServerObject) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._server.read(self._source.id, commit, object.path):
            size += len(piece)
            yield piece
        if size != object.size_bytes:
            raise Corrupt(f"{object.path!r} has {object.size_bytes} bytes by the lakeFS, but {size} came")


def _is_linkable(address: str) -> bool:
    return address.startswith(_LINKED_SCHEMES)


async def _same(object: ServerObject, trees: Sequence[Tree]) -> Entry | None:
    for tree in trees:
        found = await tree.get(object.path)
        if found is not None and found == _describe(found, object) and found.size == object.size_bytes:
            return found
    return None


def _describe(entry: Entry, object: ServerObject) -> Entry:
    """Returns the entry with the path, time, type, metadata and ETag that the object has there. If the store of a
    linked file has another ETag for it, that is kept too, because readers compare it."""
    etag = plain_etag(object.checksum) or entry.etag
    known = entry.checksums.get(STORE_ETAG, entry.etag)
    stored = {} if all(block.sha256 for block in entry.blocks) or etag == known else {STORE_ETAG: known}
    return replace(
        entry,
        path=object.path,
        etag=etag,
        checksum=etag if _MD5.fullmatch(etag) else entry.checksum,
        mtime=object.mtime * 1_000_000,
        content_type=object.content_type,
        metadata=dict(object.metadata or {}),
        checksums=stored,
    )
