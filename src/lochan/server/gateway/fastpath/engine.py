"""Does what the fast path needs below the verbs: it looks at what is known already (`server/ref_cache.py`), reads small
bodies at once, and hands small bodies to their pack. Nothing else in the gateway reaches below `lochan.api`.

The headers of an object are kept for as long as the object is found where it was found before.
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
_OBJECT_BYTES = 1_200  # including its block, and the headers that every object has
_ASKED_MAX = 1 << 16  # how many paths are remembered as asked for once: 512 KiB
_HEADER_BYTES = 160


def reads_at_once(session: ServerSession) -> bool:
    """Returns whether the lake is on a disk. Elsewhere, a request waits for the network, and the time
    it takes here does not matter."""
    return capability(session.lake.store, SmallReads) is not None


def write_beside(session: ServerSession) -> None:
    """Lets another process write small files if the lake is on a disk. That process ends with this one."""
    writer = capability(session.lake.store, WriterProcess)
    if writer is not None:
        writer.write_beside()


def holds_rows(repository: OpenRepository) -> bool:
    return repository.repository.kind == POOL


def lies_elsewhere(repository: OpenRepository) -> bool:
    """Returns whether the repository has a storage of its own, which need not be a disk even if the lake is on one."""
    return bool(repository.repository.storage)


class CachedObject:
    """An object, with what HeadObject says about it. `source` is where it was found: the change itself if it is not yet
    in a run, otherwise everything that is settled below the branch. Both are values, so whatever is found in the same
    source at the same path is the same object."""

    __slots__ = ("block", "bytes", "headers", "size", "source", "with_checksums")

    def __init__(
        self, source: object, size: int, block: "Block | Unread | None", plain: Headers, summed: Headers, texts: int
    ) -> None:
        """Creates a cached object. `texts` is how much memory its own headers take."""
        self.bytes = _OBJECT_BYTES + texts  # about what it takes in memory
        self.source = source
        self.size = size
        self.block = block  # None if the body is not a single block
        self.headers = plain
        self.with_checksums = summed


class Unread(Enum):
    """A block that no request has needed yet. A HEAD request does not need it."""

    BLOCK = 1


_UNREAD = Unread.BLOCK


class ObjectCache:
    """A cache of objects by the paths of requests. A cached object is used only if it is found in the same source
    again, in a state that is new enough for the request. So no answer is older than what the branch holds now, and a
    write makes the answer of only one path old.

    Once the cache is full, a path is kept only when it is asked for a second time. If there are far more paths than
    fit, hardly any is asked for again. To keep each of them would mean dropping another one, whose memory has not been
    touched for long."""

    def __init__(self, bytes_max: int = OBJECTS_BYTES_MAX) -> None:
        self._refs = RefCache()
        self._objects: BoundedCache[str, CachedObject] = BoundedCache(bytes_max)
        self._bytes_max = bytes_max
        self._asked = array("q", bytes(8 * _ASKED_MAX))  # hashes of paths; each replaces another one at its place

    @property
    def bytes(self) -> int:
        return self._objects.weight

    def branch(self, repository: OpenRepository, ref: str) -> CachedRef | None:
        """Returns the branch in the known state, which holds as long as the repository's last record has the branch's
        number. Returns None if there is no such branch. Raises NotOpen if it has to be opened first, with `open`."""
        branch = repository.folded().find_branch(ref)
        return None if branch is None else self._refs.find(repository, ref, branch)

    def find(
        self, repository: OpenRepository, known: CachedRef, path: str, url_path: str, *, to_read: bool
    ) -> CachedObject | None:
        """Returns the object at `path` on that branch, with its block if it is found `to_read`. Returns None if there
        is none. Raises NotOpen if files have to be opened first, with `open`."""
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
        """Opens what `find` needs. Returns whether `find` may have another answer now. Raises what reading raises."""
        branch = repository.folded().find_branch(ref)
        if branch is None:
            return False
        await self._refs.open(repository, ref, branch, path)
        return True


def _cached_object(repository: OpenRepository, source: object, found: Found, to_read: bool) -> CachedObject:
    """Returns what is cached of a found object. REQUIRES: the headers are the same, and in the same order, as on the
    general path."""
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
    """Hashes a small body. Raises an error if the body is not what was declared."""
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
    """Stages a body. When it returns, the object is durable and everybody can see it."""
    await repository.packing.stage(body, branch, Actor(user, client, source))
    repository.staged(branch)
    return body.entry
