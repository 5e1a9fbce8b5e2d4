"""Writes bodies to the store, in bounded memory. The result is an entry that no other process knows yet.

    up to 8 MiB      one put, which the store may repeat
    up to 64 MiB     one streamed file
    more             cut: a file for each 64 MiB, hashed by itself
    small ones       may share a file, a pack

When an entry is returned, its bytes are durable. After an error there are at most files that no entry names; garbage
collection removes them."""

import hashlib
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Mapping, Sequence
from string import ascii_letters, digits

from msgspec.structs import replace

from lochan.clock import Clock
from lochan.errors import LochanError
from lochan.failpoints import fp
from lochan.formats.entry import Block, Entry
from lochan.ids import Ids
from lochan.store.capabilities import with_tags
from lochan.store.protocol import Store
from lochan.versioning.bodies.address import Addresses, Style, no_plan
from lochan.versioning.bodies.body import PACKED_BYTES_MAX, Cutter, HashedBody, IncomingBody, ready
from lochan.versioning.bodies.digests import Feed, Hashing

BLOCK_BYTES = 64 << 20
_WHOLE_BYTES_MAX = 8 << 20
# Pieces that are hashed and stored: large enough to be worth a thread, small enough for a processor's cache.
_PIECE_BYTES_MIN, _PIECE_BYTES_MAX = 256 << 10, 2 << 20
_PUTS_AT_ONCE = 32

_NONE: Mapping[str, str] = {}

Shown = Callable[[bytes], None]  # gets a digest, and may raise an error
TAGS_MAX = 10
VALUE_LENGTH_MAX = 256

# A byte that is not allowed is written as `/` and two hex digits: `/` is allowed, and a segment has none.
_LETTERS = [chr(byte) if chr(byte) in f"{ascii_letters}{digits} +-.:=_" else f"/{byte:02X}" for byte in range(256)]
_PACK_BYTES = 8 << 20
_PIECE_BYTES = 2 << 20


class Bodies:
    """Writes the bodies of one repository (`prefix` is its id) under the name of one writer.

    `tag_paths` marks each file with its logical path, on stores that have tags.
    """

    def __init__(
        self,
        store: Store,
        *,
        prefix: str,
        clock: Clock,
        ids: Ids,
        writer: str,
        address_style: Style = "id",
        tag_paths: bool = False,
        block_bytes: int = BLOCK_BYTES,
        last_plan: Callable[[], int] = no_plan,
    ) -> None:
        self._store = store
        self._clock = clock
        self._addresses = Addresses(prefix, writer, clock, ids, address_style, last_plan)
        self._tag_paths = tag_paths
        self._block_bytes = block_bytes
        self._hashing = Hashing()

    async def write(
        self,
        path: str,
        chunks: AsyncIterable[bytes],
        *,
        mint: int,
        content_type: str = "",
        headers: Mapping[str, str] = _NONE,
        metadata: Mapping[str, str] = _NONE,
        expected_md5: str | None = None,
        checksums: Mapping[str, str | None] = _NONE,
        whole: Shown | None = None,
        size: int = 0,
    ) -> Entry:
        """Writes a body. Raises Invalid for an invalid path or checksum, BadDigest for a body that is not as declared,
        and whatever the store or the chunks raise. `DeclaredChecksums` says how checksums are written. `whole` gets the
        SHA-256 of the whole body, which costs nothing if that is one block, and may raise. `size` is what the sender
        announces: a body that must be streamed is then streamed from its first byte on."""
        body = IncomingBody(path, content_type, headers, metadata, expected_md5, checksums)
        cutter = Cutter(chunks)
        whole_bytes_max = min(_WHOLE_BYTES_MAX, self._block_bytes)
        if await cutter.more(whole_bytes_max if size <= whole_bytes_max else 0):
            blocks = await self._write_stream(body, mint, cutter, whole)
        else:
            blocks = [await self._whole(body, mint, await cutter.take(whole_bytes_max), whole)]
        return body.entry(blocks, self._clock.wall())

    def begin(
        self, path: str, data: bytes, *, mint: int, content_type: str = "", metadata: Mapping[str, str] = _NONE
    ) -> tuple[Entry, Coroutine[None, None, None]]:
        """Returns the entry of a small body, and a coroutine that stores the bytes. Until that is done, no event may
        name the entry."""
        body = IncomingBody(path, content_type, _NONE, metadata, None, _NONE)
        sha256 = hashlib.sha256(data)
        for hasher in body.hashers:
            hasher.update(data)
        address = self._addresses.new(path, mint)
        block = Block(address, 0, len(data), sha256.digest())
        return body.entry([block], self._clock.wall()), self._put_at(address, path, data)

    def address(self, path: str, mint: int, *, exact: bool = False) -> str:
        """Returns a new address, for a client that puts the bytes there itself. `exact` is for an address that only a
        table names."""
        return self._addresses.new(path, mint, exact=exact)

    async def write_pack(self, bodies: Sequence[HashedBody], *, mint: int) -> list[Entry]:
        """Writes all bodies or none, with one put. If files carry their logical path, each body still gets its own
        file."""
        if self._tag_paths or self._addresses.style == "path":
            blocks = await self._write_apart(bodies, mint)
        else:
            blocks = await self._write_together(bodies, mint)
        now = self._clock.wall()
        return [replace(ready.entry, blocks=(block,), mtime=now) for ready, block in zip(bodies, blocks, strict=True)]

    async def _whole(self, body: IncomingBody, mint: int, data: bytes, whole: Shown | None) -> Block:
        sha256 = hashlib.sha256()
        feed = Feed(self._hashing, [*body.hashers, sha256])
        await feed.add(data)
        if not (behind := feed.is_behind):  # it is hashed already, so a wrong body need not be stored
            _check(body, sha256.digest(), whole)
        address = await self._put(body.path, mint, data)
        if behind:  # it was hashed while it was stored, like longer bodies
            await feed.done()
            _check(body, sha256.digest(), whole)
        return Block(address, 0, len(data), sha256.digest())

    async def _write_stream(self, body: IncomingBody, mint: int, cutter: Cutter, whole: Shown | None) -> list[Block]:
        blocks: list[Block] = []
        of_all = sha256 = hashlib.sha256()
        while await cutter.more():
            if blocks:  # more than one block: from here on two digests are fed
                of_all, sha256 = sha256.copy() if of_all is sha256 else of_all, hashlib.sha256()
            ours = [sha256] if whole is None or of_all is sha256 else [sha256, of_all]
            feed = Feed(self._hashing, [*body.hashers, *ours])
            address = self._addresses.new(body.path, mint)
            fp("body.before_put")
            size = await self._store_for(body.path).put_stream(address, self._pieces(cutter, feed))
            fp("body.after_put")
            await feed.done()
            blocks.append(Block(address, 0, size, sha256.digest()))
        if whole is not None:
            whole(of_all.digest())
        return blocks

    async def _pieces(self, cutter: Cutter, feed: Feed) -> AsyncIterator[bytes]:
        """Yields one block of the body. Each piece is hashed while the store writes it."""
        left = self._block_bytes
        while left and (piece := await cutter.take_some(_PIECE_BYTES_MIN, min(_PIECE_BYTES_MAX, left))):
            left -= len(piece)
            await feed.add(piece)
            yield piece

    async def _write_together(self, bodies: Sequence[HashedBody], mint: int) -> list[Block]:
        if not bodies:
            return []
        address = await self._put("", mint, b"".join(body.data for body in bodies))
        blocks, offset = [], 0
        for body in bodies:
            blocks.append(Block(address, offset, len(body.data), body.sha256))
            offset += len(body.data)
        return blocks

    async def _write_apart(self, bodies: Sequence[HashedBody], mint: int) -> list[Block]:
        from asyncio import gather

        async def put(ready: HashedBody) -> Block | LochanError:
            try:
                address = await self._put(ready.entry.path, mint, ready.data)
            except LochanError as error:
                return error
            return Block(address, 0, len(ready.data), ready.sha256)

        blocks = []
        for start in range(0, len(bodies), _PUTS_AT_ONCE):
            for done in await gather(*map(put, bodies[start : start + _PUTS_AT_ONCE])):
                if isinstance(done, LochanError):
                    raise done
                blocks.append(done)
        return blocks

    async def _put(self, path: str, mint: int, data: bytes) -> str:
        address = self._addresses.new(path, mint)
        await self._put_at(address, path, data)
        return address

    async def _put_at(self, address: str, path: str, data: bytes) -> None:
        fp("body.before_put")
        await self._store_for(path).put(address, data)
        fp("body.after_put")

    def _store_for(self, path: str) -> Store:
        return with_tags(self._store, path_tags(path)) if self._tag_paths else self._store


def _check(body: IncomingBody, sha256: bytes, whole: Shown | None) -> None:
    if whole is not None:
        whole(sha256)
    body.verify()


def path_tags(path: str) -> dict[str, str]:
    """Returns the logical path as object tags, `path.0=foo`, `path.1=bar` …, so that lifecycle rules of a bucket can
    match it: the first ten segments. S3 and Azure allow ten tags of up to 256 characters, and each store allows another
    set of characters; those kept here are allowed by all. No store allows brackets, so the tags are not called
    `path[0]`."""
    segments = path.split("/")[:TAGS_MAX]
    return {f"path.{number}": _value(segment) for number, segment in enumerate(segments)}


def _value(segment: str) -> str:
    """Returns the value of a segment. A value that is too long is cut and ends with a single `/`, so that a rule for a
    shorter name never matches it."""
    letters = [_LETTERS[byte] for byte in segment.encode()]
    length = sum(map(len, letters))
    if length <= VALUE_LENGTH_MAX:
        return "".join(letters)
    while length >= VALUE_LENGTH_MAX:
        length -= len(letters.pop())
    return f"{''.join(letters)}/"


class Batch:
    """Bodies that will be staged together. Small ones share files, so that a thousand of them cost only a few syncs.
    Several tasks may write to it at the same time."""

    def __init__(self, bodies: Bodies, mint: int) -> None:
        self._bodies = bodies
        self._mint = mint
        self._waiting: list[HashedBody] = []
        self._waiting_bytes = 0
        self._entries: list[Entry] = []

    async def write(
        self,
        path: str,
        chunks: AsyncIterable[bytes],
        *,
        content_type: str = "",
        headers: Mapping[str, str] = _NONE,
        metadata: Mapping[str, str] = _NONE,
    ) -> None:
        cutter = Cutter(chunks)
        data = await cutter.take(PACKED_BYTES_MAX + 1)
        if len(data) > PACKED_BYTES_MAX:
            cutter.put_back(data)
            written = await self._bodies.write(
                path, _rest(cutter), mint=self._mint, content_type=content_type, headers=headers, metadata=metadata
            )
            self._entries.append(written)
            return
        self._waiting.append(ready(path, data, content_type=content_type, headers=headers, metadata=metadata))
        self._waiting_bytes += len(data)
        if self._waiting_bytes >= _PACK_BYTES:
            await self._pack()

    async def finish(self) -> list[Entry]:
        """Returns all entries, in no particular order. Their bytes are durable."""
        await self._pack()
        return self._entries

    async def _pack(self) -> None:
        bodies, self._waiting, self._waiting_bytes = self._waiting, [], 0
        self._entries += await self._bodies.write_pack(bodies, mint=self._mint)


async def _rest(cutter: Cutter) -> AsyncIterator[bytes]:
    while piece := await cutter.take(_PIECE_BYTES):
        yield piece
