"""Reads bodies: any span of bytes across the blocks of an entry, in bounded memory, one piece ahead.

A block that is read completely is checked against its SHA-256, unless that was done recently (`block_check.py`). If the
check fails, the block is read again, and it is returned only if the check then succeeds. The last piece of a block is
held back until the check has passed, so a body that was read to its end without an error is right.

A block on a disk that is read in part is first read completely, once for each stamp of its file (`block_check.py`). On
other stores a part is returned as it arrives, protected only by the network's own checksums."""

import hashlib
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import NamedTuple

from msgspec.structs import replace

from lochan.concurrency import read_ahead
from lochan.errors import Conflict, Corrupt, Gone, Invalid, LochanError, NotFound, Transient
from lochan.formats.entry import STORE_ETAG, Block, Entry
from lochan.store.capabilities import FileStamp, SmallReads, Stamps, capability
from lochan.store.checked_reads import ReadDoubt
from lochan.store.protocol import Stat, Store, check_span
from lochan.store.verified_files import VerifiedFiles
from lochan.versioning.bodies.address import is_outside, is_workspace_file
from lochan.versioning.bodies.block_check import NOBODY, BlockCheck, TrustedBlocks
from lochan.versioning.bodies.block_places import NO_PLACES, Places
from lochan.versioning.bodies.digests import Feed, Hashing
from lochan.versioning.bodies.outside_files import OutsideFiles, plain_etag

_PIECE_BYTES = 4 << 20
_BEGUN = hashlib.sha256()  # copying it takes less time than making a new one
_SMALL_BYTES = 64 << 10  # bodies up to this size are hashed at once: a thread would cost more


class _Span(NamedTuple):
    """The bytes to read from one block."""

    number: int  # the block's number, from 0
    block: Block  # where the block is read
    start: int
    stop: int
    named: Block  # the block as the entry has it; an alias leads from there to `block`


class _Piece(NamedTuple):
    span: _Span
    start: int
    stop: int

    @property
    def is_first(self) -> bool:
        return self.start == self.span.start

    @property
    def is_last(self) -> bool:
        return self.stop == self.span.stop


class BodyReader:
    """Reads the bodies of entries. Without `outside`, entries whose bytes are outside the lake cannot be read."""

    def __init__(
        self,
        store: Store,
        outside: OutsideFiles | None = None,
        *,
        piece_bytes: int = _PIECE_BYTES,
        verified: VerifiedFiles | None = None,
        places: Places = NO_PLACES,
    ) -> None:
        self._places = places
        self._store = store
        self._outside = outside
        self._piece_bytes = piece_bytes
        self._hashing = Hashing()
        self._trusted = TrustedBlocks(capability(store, Stamps), verified)
        self._blocks = BlockCheck(store, self._hashing, self._trusted, piece_bytes)
        small_reads = capability(store, SmallReads)
        self._now = None if small_reads is None else small_reads.get_range_now

    async def read(
        self, entry: Entry, start: int = 0, stop: int | None = None, *, piece_bytes: Callable[[], int] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yields the bytes from `start` to `stop`, exclusive, in pieces. `piece_bytes` is called before each. Raises
        Gone, Corrupt, Invalid for a span that exceeds the body, and Conflict for a file outside the lake that has
        changed since it was imported, or a file of a workspace that was overwritten since it was committed."""
        named, entry = entry, await self._places.place(entry)
        spans = _spans(entry, start, entry.size if stop is None else stop, named)
        size = piece_bytes or (lambda: self._piece_bytes)
        pieces = (piece for span in spans for piece in _pieces(span, span.stop, size))
        check = _Check(self._hashing)
        seen: FileStamp | None = None  # for a block that is read in part
        async with aclosing(read_ahead(self._fetch(entry, piece) for piece in pieces)) as fetched:
            async for piece, data in fetched:
                if piece.is_first:
                    check = _Check(self._hashing, self._trusted, piece.span)
                    if not piece.is_last and not _tells_by_itself(piece.span):
                        await self._check_unchanged(entry, piece.span)
                if self._is_part(piece.span):
                    data, seen = await self._part(entry, piece, data, None if piece.is_first else seen)
                if piece.is_last:
                    data = await self._finish_block(entry, piece, data, check)
                elif _is_checked(piece.span):
                    await check.add(data)
                handed, data = [data], b""
                yield handed.pop()  # no reference to the piece is kept while the caller uses it

    async def read_all(self, entry: Entry) -> bytes:
        """Returns the whole body, in memory."""
        named, entry = entry, await self._places.place(entry)
        small = await self._read_small(entry)
        if small is not None:
            return small
        if len(entry.blocks) == 1 and 0 < entry.size <= self._piece_bytes:  # most bodies need no stream
            [span] = _spans(entry, 0, entry.size, named)
            piece, data = await self._fetch(entry, _Piece(span, span.start, span.stop))
            return await self._finish_block(entry, piece, data, _Check(self._hashing, self._trusted, span))
        async with aclosing(self.read(named)) as pieces:
            return b"".join([piece async for piece in pieces])

    def read_now(self, entry: Entry) -> bytes | None:
        """Returns a small body if it can be read without waiting. Returns None if the caller must use `read_all`."""
        block = _small_block(entry)
        return None if block is None else self.read_block_now(block)

    def read_block_now(self, block: Block) -> bytes | None:
        """Returns a small block of the lake, checked, if it can be read without waiting. Returns None if the caller
        must use `read_all` of its entry."""
        place = self._places.ready()
        if place is None or self._now is None or not 0 < block.size <= _SMALL_BYTES or not block.sha256:
            return None
        block = place(block)
        if is_outside(block.address):
            return None
        try:
            data = self._now(block.address, block.offset, block.offset + block.size)
        except LochanError:
            return None
        digest = _BEGUN.copy()
        digest.update(data)
        return data if digest.digest() == block.sha256 else None

    async def _read_small(self, entry: Entry) -> bytes | None:
        """Returns a small body without a problem, as most are, in the quickest way. Returns None if the general way
        must be taken."""
        block = _small_block(entry)
        if block is None:
            return None
        try:
            data = await self._store.get_range(block.address, block.offset, block.offset + block.size)
        except (NotFound, Invalid):
            return None
        return data if hashlib.sha256(data).digest() == block.sha256 else None

    async def _fetch(self, entry: Entry, piece: _Piece) -> tuple[_Piece, bytes]:
        """Fetches a piece. Bytes that moved while they were read are read where they are now; the returned piece says
        where (G5)."""
        try:
            return await self._fetch_at(entry, piece)
        except Gone:
            moved = await self._find_moved(entry, piece)
            if moved is None:
                raise
        return await self._fetch_at(entry, moved)

    async def _find_moved(self, entry: Entry, piece: _Piece) -> _Piece | None:
        """Returns the piece at its new place, or None if no new alias leads elsewhere."""
        span = piece.span
        [block] = (await self._places.place_again(replace(entry, blocks=(span.named,)))).blocks
        return None if block == span.block else piece._replace(span=span._replace(block=block))

    async def _fetch_at(self, entry: Entry, piece: _Piece) -> tuple[_Piece, bytes]:
        block = piece.span.block
        store, path = self._place(block.address)
        try:
            return piece, await store.get_range(path, block.offset + piece.start, block.offset + piece.stop)
        except NotFound as error:
            raise _gone_error(entry, piece.span) from error
        except Invalid as error:
            if _may_change(block):
                raise _changed_error(entry, block, "it is shorter") from error
            raise Corrupt(f"{_name(entry, piece.span)} is damaged: {error.message}") from error

    def _is_part(self, span: _Span) -> bool:
        """Returns whether this is a part of a block that can be checked."""
        block = span.block
        return (
            bool(block.sha256) and not _is_checked(span) and self._trusted.has_stamps and not is_outside(block.address)
        )

    async def _part(
        self, entry: Entry, piece: _Piece, data: bytes, seen: FileStamp | None
    ) -> tuple[bytes, FileStamp | None]:
        """Returns the bytes of a piece, after its whole block was checked."""
        block = piece.span.block
        try:
            return await self._blocks.part(block, piece.start, data, seen)
        except NotFound as error:
            moved = await self._find_moved(entry, piece)
            if moved is not None:
                return await self._part(entry, moved, data, None)
            raise _gone_error(entry, piece.span) from error
        except Invalid as error:
            raise Corrupt(f"{_name(entry, piece.span)} is damaged: {error.message}") from error
        except Corrupt as error:
            await self._check_unchanged(entry, piece.span)
            raise Corrupt(f"{_name(entry, piece.span)} is damaged: {error.message}") from error

    async def _finish_block(self, entry: Entry, piece: _Piece, data: bytes, check: "_Check") -> bytes:
        """Returns the last piece of a block, after the whole block was checked."""
        if not _tells_by_itself(piece.span):
            await self._check_unchanged(entry, piece.span)
        if not _is_checked(piece.span):
            return data
        if check.is_passed():
            return data
        before = await check.digest()
        await check.add(data)
        digest = await check.digest()
        if digest == piece.span.block.sha256:
            check.passed()
            return data
        await self._check_unchanged(entry, piece.span)
        doubt = ReadDoubt()
        while doubt.again(digest):
            data, digest = await self._once_more(entry, piece, before)
            if digest == piece.span.block.sha256:
                return data
        raise Corrupt(f"{_name(entry, piece.span)} is damaged: its SHA-256 is not the one it was written with")

    async def _once_more(self, entry: Entry, last: _Piece, before: bytes) -> tuple[bytes, bytes]:
        """Reads the whole block again. Returns the last piece and the digest. `before` is the digest of the pieces that
        were returned already. Raises Transient if those were damaged and the block is right now."""
        check = _Check(self._hashing)
        agreed = True
        data = b""
        for piece in (*_pieces(last.span, last.start, lambda: self._piece_bytes), last):
            if piece.is_last:
                agreed = await check.digest() == before
            _, data = await self._fetch(entry, piece)
            await check.add(data)
        digest = await check.digest()
        if digest == last.span.block.sha256 and not agreed:
            name = _name(entry, last.span)
            raise Transient(
                f"{name} was damaged when it was read first, and part of it was handed out", hint="read it again"
            )
        return data, digest

    async def _check_unchanged(self, entry: Entry, span: _Span) -> None:
        """Raises Conflict if a file that others can write to has changed. Only an entry that is one whole file knows
        its ETag; one that was assembled from parts of files does not."""
        block = span.block
        if not _may_change(block) or entry.blocks != (block,) or block.offset:
            return
        expected = entry.checksums.get(STORE_ETAG, entry.etag)
        try:
            stat = await self.head(block.address)
        except NotFound as error:
            raise _gone_error(entry, span) from error
        if stat.size != entry.size:
            raise _changed_error(entry, block, f"it has {stat.size} bytes instead of {entry.size}")
        if expected and plain_etag(stat.etag) != expected:
            raise _changed_error(entry, block, f"its ETag is {plain_etag(stat.etag)} instead of {expected}")

    async def head(self, address: str) -> Stat:
        """Returns what the store reports about a file, in the lake or outside. Raises NotFound."""
        store, path = self._place(address)
        return await store.head(path)

    def _place(self, address: str) -> tuple[Store, str]:
        if not is_outside(address):
            return self._store, address
        if self._outside is None:
            raise Invalid(f"{address} is outside the lake, which was opened without access to other stores")
        return self._outside.find(address)


class _Check:
    """Computes the digest of a block as it is read, or none if the block is trusted."""

    def __init__(self, hashing: Hashing, trusted: TrustedBlocks = NOBODY, span: _Span | None = None) -> None:
        self._sha256 = hashlib.sha256()
        self._feed = Feed(hashing, [self._sha256])
        self._trusted = trusted
        self._block = span.block if span is not None and _is_checked(span) else None
        self._stamp = trusted.stamp(self._block) if self._block else None
        self._is_believed = self._block is not None and trusted.believes(self._block, self._stamp)

    async def add(self, data: bytes) -> None:
        if not self._is_believed:
            await self._feed.add(data)

    async def digest(self) -> bytes:
        await self._feed.done()
        return self._sha256.digest()

    def is_passed(self) -> bool:
        """Returns whether no digest is needed: the block was right when it was last read, and the file is still the
        same."""
        believed, self._is_believed = self._is_believed, False
        return believed and self._block is not None and self._trusted.stamp(self._block) == self._stamp

    def passed(self) -> None:
        if self._block is not None and self._trusted.stamp(self._block) == self._stamp:
            self._trusted.was_right(self._block, self._stamp)


def _spans(entry: Entry, start: int, stop: int, named: Entry) -> list[_Span]:
    """Returns the spans of these bytes in the blocks. `named` is the entry as it was before its blocks were placed."""
    check_span(entry.path, start, stop, entry.size)
    spans, at = [], 0
    for number, block in enumerate(entry.blocks):
        first, last = max(start - at, 0), min(stop - at, block.size)
        if first < last:
            spans.append(_Span(number, block, first, last, named.blocks[number]))
        at += block.size
    if at != entry.size:
        raise Corrupt(f"{entry.path!r} has {entry.size} bytes, but its blocks have {at}")
    return spans


def _pieces(span: _Span, stop: int, size: Callable[[], int]) -> Iterator[_Piece]:
    """Yields the pieces of a span from its beginning to `stop`. `size` is called before each piece."""
    start = span.start
    while start < stop:
        end = min(start + size(), stop)
        yield _Piece(span, start, end)
        start = end


def _small_block(entry: Entry) -> Block | None:
    """Returns the block of a body that is small, whole, in the lake, and known by its SHA-256, or None."""
    if len(entry.blocks) != 1 or not 0 < entry.size <= _SMALL_BYTES:
        return None
    [block] = entry.blocks
    return block if block.size == entry.size and block.sha256 and not is_outside(block.address) else None


def _is_checked(span: _Span) -> bool:
    return bool(span.block.sha256) and span.start == 0 and span.stop == span.block.size


def _may_change(block: Block) -> bool:
    """Returns whether other programs write to that file."""
    return is_outside(block.address) or is_workspace_file(block.address)


def _tells_by_itself(span: _Span) -> bool:
    """Returns whether the SHA-256 of this span says more than the ETag, as for a workspace's file that is read
    completely: writing the same bytes again does no harm."""
    return is_workspace_file(span.block.address) and _is_checked(span)


def _name(entry: Entry, span: _Span) -> str:
    return f"{entry.path!r}: block {span.number + 1} of {len(entry.blocks)}, at {span.block.address},"


def _gone_error(entry: Entry, span: _Span) -> Gone:
    return Gone(f"{_name(entry, span)} is gone", hint="was it deleted by hand, or by a lifecycle rule of the bucket?")


def _changed_error(entry: Entry, block: Block, reason: str) -> Conflict:
    what = f"{entry.path!r}: {block.address}"
    if is_workspace_file(block.address):
        if not block.sha256:
            return Conflict(f"{what} has changed while it was read: {reason}", hint="read it again")
        return Conflict(
            f"{what} was overwritten after its workspace was committed: {reason}",
            hint="what was committed is lost; find who still writes to that folder, and commit the file anew",
        )
    return Conflict(
        f"{entry.path!r}: {block.address} has changed since it was imported: {reason}", hint="import it again"
    )
