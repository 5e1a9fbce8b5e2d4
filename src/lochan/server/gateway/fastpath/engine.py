"""What the fast path does below the verbs: it looks at what is known already (`server/ref_cache.py`), reads small
bodies at once, and hands small bodies to their pack. Nothing else of the gateway reaches below `lochan.api`.

The headers of objects are kept for as long as they are found where they were found before.
"""

from array import array
from collections.abc import Mapping
from enum import Enum

from lochan.api.open_object import OpenObject
from lochan.api.session import ServerSession
from lochan.bounded_cache import BoundedCache
from lochan.formats.entry import Block as Block
from lochan.formats.entry import Entry as Entry
from lochan.formats.entry import Tombstone
from lochan.formats.record import Actor
from lochan.journal.journal import Journal as Journal
from lochan.server.gateway.object_headers import ObjectHeaders, brief_headers, stored_headers
from lochan.server.gateway.request import Headers
from lochan.server.ref_cache import CachedRef, RefCache
from lochan.server.ref_cache import NotOpen as NotOpen
from lochan.staging.point_lookup import Found
from lochan.store.capabilities import SmallReads, WriterProcess, capability
from lochan.versioning.bodies.body import PACKED_BYTES_MAX as PACKED_BYTES_MAX
from lochan.versioning.bodies.body import HashedBody as HashedBody
from lochan.versioning.bodies.body import ready
from lochan.versioning.open_repository import OpenRepository as OpenRepository
from lochan.versioning.repositories import POOL

OBJECTS_BYTES_MAX = 32 << 20  # some 25,000 objects
_OBJECT_BYTES = 1_200  # with its block, and the headers that every object has
_ASKED_MAX = 1 << 16  # paths of which it is known that they were asked for before: 512 KiB
_HEADER_BYTES = 160


def reads_at_once(session: ServerSession) -> bool:
    """Whether the lake is on a disk. Elsewhere a request waits for the network, and what it takes here does not
    matter."""
    return capability(session.lake.store, SmallReads) is not None


def write_beside(session: ServerSession) -> None:
    """On a disk, small files are written by a process beside this one. It ends with this one."""
    writer = capability(session.lake.store, WriterProcess)
    if writer is not None:
        writer.write_beside()


def holds_rows(repository: OpenRepository) -> bool:
    return repository.repository.kind == POOL


def lies_elsewhere(repository: OpenRepository) -> bool:
    """In a storage of its own, which need not be a disk although the lake is on one."""
    return bool(repository.repository.storage)


class CachedObject:
    """An object, with what HeadObject says of it. `source` is where it was found: the change itself if it is in no run
    yet, else everything that is settled below the branch. Both are values, so whatever is found in the same source at
    the same path is the same object."""

    __slots__ = ("block", "bytes", "headers", "size", "source", "with_checksums")

    def __init__(
        self, source: object, size: int, block: "Block | Unread | None", plain: Headers, summed: Headers, texts: int
    ) -> None:
        """`texts` is how much its own headers take."""
        self.bytes = _OBJECT_BYTES + texts  # about what it takes in memory
        self.source = source
        self.size = size
        self.block = block  # None: the body is no single block
        self.headers = plain
        self.with_checksums = summed


class Unread(Enum):
    """A block that no request has needed yet: a HEAD has no use for it."""

    BLOCK = 1


_UNREAD = Unread.BLOCK


class ObjectCache:
    """Objects by the paths of requests. One is answered again only if it is found in the same source again, in the
    state that is new enough for the request: so no answer is older than what the branch has now, and a write makes the
    answer of one path old.

    Once the cache is full, a path is kept when it is asked for again. Where there are far more of them than can be
    kept, hardly any comes again, and to keep each means to drop another for it, whose memory nobody has touched for
    long."""

    def __init__(self, bytes_max: int = OBJECTS_BYTES_MAX) -> None:
        self._refs = RefCache()
        self._objects: BoundedCache[str, CachedObject] = BoundedCache(bytes_max)
        self._bytes_max = bytes_max
        self._asked = array("q", bytes(8 * _ASKED_MAX))  # hashes of paths; one takes the place of another

    @property
    def bytes(self) -> int:
        return self._objects.weight

    def branch(self, repository: OpenRepository, ref: str) -> CachedRef | None:
        """In the state that is known, and as long as the repository's last record has the branch's number. None: there
        is no such branch. Raises NotOpen if it has to be opened first: use `open`."""
        branch = repository.folded().find_branch(ref)
        return None if branch is None else self._refs.find(repository, ref, branch)

    def find(
        self, repository: OpenRepository, known: CachedRef, path: str, url_path: str, *, to_read: bool
    ) -> CachedObject | None:
        """On that branch; `to_read` with its block. None: there is none. Raises NotOpen if files have to be opened
        first: use `open`."""
        change = known.lookup.fresh(path)
        source: object = known.lookup.settled if change is None else change
        cached = self._objects.get(url_path)
        if cached is not None and cached.source is source and not (to_read and cached.block is _UNREAD):
            return cached
        found = known.lookup.settled.find(path) if change is None else change
        if found is None or isinstance(found, Tombstone):
            return None
        made = _cached_object(repository, source, found, to_read)
        weight, asked = made.bytes + 2 * len(url_path), hash(url_path)
        has_room = self._objects.weight + weight <= self._bytes_max
        if has_room or cached is not None or self._asked[asked % _ASKED_MAX] == asked:
            self._objects.put(url_path, made, weight)
        else:
            self._asked[asked % _ASKED_MAX] = asked
        return made

    async def open(self, repository: OpenRepository, ref: str, path: str) -> bool:
        """Whether `find` may have another answer now: what it needs is open. Raises what reading raises."""
        branch = repository.folded().find_branch(ref)
        if branch is None:
            return False
        await self._refs.open(repository, ref, branch, path)
        return True


def _cached_object(repository: OpenRepository, source: object, found: Found, to_read: bool) -> CachedObject:
    """REQUIRES: the same headers in the same order as the general path has them."""
    if isinstance(found, tuple):
        rows, row = found
        brief = rows.brief(row)
        if brief is not None:
            headers = brief_headers(brief)
            block = _whole(rows.block(row), brief.size) if to_read else _UNREAD
            return CachedObject(source, brief.size, block, headers, headers, len(brief.content_type))
        found = rows.entry(row)
    opened, length = OpenObject(repository.reader, found), ("content-length", str(found.size))
    plain = [*stored_headers(opened, checksums=False), length]
    summed = [*stored_headers(opened, checksums=True), length] if found.checksums else plain
    block = found.blocks[0] if len(found.blocks) == 1 else None
    texts = sum(len(name) + len(value) + _HEADER_BYTES for name, value in (*plain, *summed))
    return CachedObject(source, found.size, _whole(block, found.size), plain, summed, texts)


def _whole(block: Block | None, size: int) -> Block | None:
    return block if block is not None and block.size == size else None


def hash_body(
    path: str,
    data: bytes,
    kept: ObjectHeaders,
    sha256: bytes,
    md5: str | None,
    checksums: Mapping[str, str | None],
) -> HashedBody:
    """A small body. Raises where it is not what was declared."""
    return ready(
        path,
        data,
        content_type=kept.content_type,
        headers=kept.headers,
        metadata=kept.metadata,
        expected_md5=md5,
        checksums=checksums,
        sha256=sha256,
    )


async def stage(
    repository: OpenRepository, branch: str, body: HashedBody, user: str, client: str, source: str
) -> Entry:
    """Durable and seen by everybody when it returns."""
    await repository.packing.stage(body, branch, Actor(user, client, source))
    repository.staged(branch)
    return body.entry
