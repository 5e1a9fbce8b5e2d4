"""An incoming body: its declared values, the digests that are computed, and chunks that are cut to other sizes."""

import hashlib
from collections import deque
from collections.abc import AsyncIterable, Mapping, Sequence

import msgspec

from lochan.errors import Invalid
from lochan.formats.entry import Block, Entry
from lochan.versioning.bodies.checksums import DeclaredChecksums, Hasher
from lochan.versioning.names import check_key

PACKED_BYTES_MAX = 256 << 10  # a pack saves one sync per body; above this size the sync is the smaller part

_NONE: Mapping[str, str] = {}


class IncomingBody:
    """A body that is being written. Raises Invalid for an invalid path or checksum."""

    def __init__(
        self,
        path: str,
        content_type: str,
        headers: Mapping[str, str],
        metadata: Mapping[str, str],
        expected_md5: str | None,
        checksums: Mapping[str, str | None],
    ) -> None:
        check_key(path)
        self.path = path
        self._content_type = content_type
        self._headers = dict(headers)
        self._metadata = dict(metadata)
        self._declared = DeclaredChecksums(expected_md5, checksums)
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._others = self._declared.hashers()

    @property
    def hashers(self) -> list[Hasher]:
        """The hashers of the body. The caller feeds every byte of the body to each of them, in order."""
        return [self._md5, *self._others.values()]

    def verify(self) -> dict[str, str]:
        """Returns S3's additional checksums as computed. Raises BadDigest for a body that is not as declared."""
        return self._declared.verified(self.path, self._md5.hexdigest(), self._others)

    def entry(self, blocks: Sequence[Block], mtime: int) -> Entry:
        """Makes the entry of the body. Raises BadDigest too: an unverified body does not become an entry."""
        checksums = self.verify()
        md5 = self._md5.hexdigest()
        return Entry(
            path=self.path,
            blocks=tuple(blocks),
            size=sum(block.size for block in blocks),
            checksum=md5,
            etag=md5,
            mtime=mtime,
            content_type=self._content_type,
            checksums=checksums,
            headers=self._headers,
            metadata=self._metadata,
        )


class HashedBody(msgspec.Struct, frozen=True, gc=False):
    """A small body that was hashed and verified, and can go into a pack with others."""

    data: bytes
    sha256: bytes
    entry: Entry  # the entry without blocks and mtime, which the pack adds


def ready(
    path: str,
    data: bytes,
    *,
    content_type: str = "",
    headers: Mapping[str, str] = _NONE,
    metadata: Mapping[str, str] = _NONE,
    expected_md5: str | None = None,
    checksums: Mapping[str, str | None] = _NONE,
    sha256: bytes | None = None,
) -> HashedBody:
    """Returns the body, hashed and verified. Raises what `Bodies.write` would raise before its put, so that a refused
    body fails alone and not its pack. `sha256` is that of `data`, if it is already known."""
    if len(data) > PACKED_BYTES_MAX:
        raise Invalid(f"{path!r}: a body of {len(data)} bytes is too large for a pack, {PACKED_BYTES_MAX} is the limit")
    check_key(path)
    md5, found = hashlib.md5(data, usedforsecurity=False).hexdigest(), {}
    if checksums or expected_md5 is not None:
        declared = DeclaredChecksums(expected_md5, checksums)
        others = declared.hashers()
        for hasher in others.values():
            hasher.update(data)
        found = declared.verified(path, md5, others)
    entry = Entry(path, (), len(data), md5, md5, 0, content_type, found, (), dict(headers), dict(metadata))
    return HashedBody(data, sha256 or hashlib.sha256(data).digest(), entry)


class Cutter:
    """Cuts a sender's chunks of any size to other sizes."""

    def __init__(self, chunks: AsyncIterable[bytes]) -> None:
        self._chunks = aiter(chunks)
        self._held: deque[bytes | memoryview] = deque()  # received, and not taken yet
        self._held_bytes = 0

    async def more(self, than: int = 0) -> bool:
        """Returns whether more than `than` bytes are left to take."""
        while self._held_bytes <= than:
            chunk = await anext(self._chunks, None)
            if chunk is None:
                return False
            if chunk:
                self._held.append(chunk)
                self._held_bytes += len(chunk)
        return True

    async def take(self, size: int) -> bytes:
        """Returns the next `size` bytes. It returns fewer only at the end, and then none."""
        return await self.take_some(size, size)

    async def take_some(self, least: int, most: int) -> bytes:
        """Returns the next bytes, without a copy where they came in one chunk. It returns fewer than `least` only at
        the end, and then none."""
        taken: list[bytes | memoryview] = []
        size = 0
        while size < min(least, most) and await self.more():
            taken.append(self._cut(most - size))
            size += len(taken[-1])
        if len(taken) == 1 and isinstance(taken[0], bytes):
            return taken[0]
        return b"".join(taken)

    def put_back(self, data: bytes | memoryview) -> None:
        """Puts bytes back, which are then taken next."""
        if data:
            self._held.appendleft(data)
            self._held_bytes += len(data)

    def _cut(self, size: int) -> bytes | memoryview:
        chunk = self._held.popleft()
        self._held_bytes -= len(chunk)
        if len(chunk) <= size:
            return chunk
        view = memoryview(chunk)
        self.put_back(view[size:])
        return view[:size]
