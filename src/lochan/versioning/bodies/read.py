"""Bodies read back: any span of bytes across the blocks of an entry, in bounded memory, one piece ahead.

A block that is read as a whole is checked against its SHA-256, unless it was a short while ago (`block_check.py`). When
that fails it is read again; what then agrees is handed out, and otherwise nothing more is. The last piece of a
block is held back until the check is passed, so a body that was read to its end without an error is right.

Of a block on a disk that is read in part all is read first, once for each stamp of its file (`block_check.py`). On
other stores a part is handed out as it comes: nothing is known of it but what the network's own checksums tell.
"""

import hashlib
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import NamedTuple

from lochan.concurrency import read_ahead
from lochan.errors import Conflict, Corrupt, Gone, Invalid, LochanError, NotFound, Transient
from lochan.formats.entry import STORE_ETAG, Block, Entry
from lochan.store.capabilities import FileStamp, Forgetting, SmallReads, Stamps, capability
from lochan.store.checked_reads import ReadDoubt
from lochan.store.protocol import Stat, Store, check_span
from lochan.store.verified_files import VerifiedFiles
from lochan.versioning.bodies.address import is_outside, is_workspace_file
from lochan.versioning.bodies.block_check import NOBODY, BlockCheck, TrustedBlocks
from lochan.versioning.bodies.digests import Feed, Hashing
from lochan.versioning.bodies.outside_files import OutsideFiles, plain_etag

_PIECE_BYTES = 4 << 20
_SMALL_BYTES = 64 << 10  # hashed at once: a thread would cost more


class _Span(NamedTuple):
    """What is wanted of one block."""

    number: int  # the block's, from 0
    block: Block
    start: int
    stop: int


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
    """Without `outside`, entries whose bytes lie outside the lake cannot be read."""

    def __init__(
        self,
        store: Store,
        outside: OutsideFiles | None = None,
        *,
        piece_bytes: int = _PIECE_BYTES,
        verified: VerifiedFiles | None = None,
    ) -> None:
        self._store = store
        self._outside = outside
        self._piece_bytes = piece_bytes
        self._hashing = Hashing()
        self._trusted = TrustedBlocks(capability(store, Stamps), verified)
        self._blocks = BlockCheck(store, self._hashing, self._trusted, piece_bytes)
        small_reads = capability(store, SmallReads)
        self._now = None if small_reads is None else small_reads.get_range_now
        self._cache = capability(store, Forgetting)

    async def read(
        self, entry: Entry, start: int = 0, stop: int | None = None, *, piece_bytes: Callable[[], int] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Bytes start to stop, exclusive, in pieces; how large is asked before each. Raises Invalid for a span outside
        of the body, Gone, Corrupt, and Conflict for a file outside the lake that is not the one that was imported, or
        one of a workspace that somebody has overwritten since it was committed."""
        spans = _spans(entry, start, entry.size if stop is None else stop)
        size = piece_bytes or (lambda: self._piece_bytes)
        pieces = (piece for span in spans for piece in _pieces(span, span.stop, size))
        check = _Check(self._hashing)
        seen: FileStamp | None = None  # of a block that is read in part
        async with aclosing(read_ahead(self._fetch(entry, piece) for piece in pieces)) as fetched:
            async for piece, data in fetched:
                if piece.is_first:
                    check = _Check(self._hashing, self._trusted, piece.span)
                    if not piece.is_last and not _tells_by_itself(piece.span):
                        await self._check_unchanged(entry, piece.span)
                if self._is_part(piece.span):
                    data, seen = await self._part(entry, piece, data, None if piece.is_first else seen)
                if piece.is_last:
                    data = await self._ended(entry, piece, data, check)
                elif _is_checked(piece.span):
                    await check.add(data)
                handed, data = [data], b""
                yield handed.pop()  # kept nowhere while it is used

    async def read_all(self, entry: Entry) -> bytes:
        """The whole body, in memory."""
        small = await self._read_small(entry)
        if small is not None:
            return small
        if len(entry.blocks) == 1 and 0 < entry.size <= self._piece_bytes:  # most bodies: no stream is needed
            [span] = _spans(entry, 0, entry.size)
            piece, data = await self._fetch(entry, _Piece(span, span.start, span.stop))
            return await self._ended(entry, piece, data, _Check(self._hashing, self._trusted, span))
        async with aclosing(self.read(entry)) as pieces:
            return b"".join([piece async for piece in pieces])

    def read_now(self, entry: Entry) -> bytes | None:
        """The whole of a small body, where nothing need be waited for. None says nothing: `read_all` does."""
        block = _small_block(entry)
        if block is None or self._now is None:
            return None
        try:
            data = self._now(block.address, block.offset, block.offset + block.size)
        except LochanError:
            return None
        return data if hashlib.sha256(data).digest() == block.sha256 else None

    async def _read_small(self, entry: Entry) -> bytes | None:
        """Most reads are of small bodies that are as they should be. None: there is more to say of this one."""
        block = _small_block(entry)
        if block is None:
            return None
        try:
            data = await self._store.get_range(block.address, block.offset, block.offset + block.size)
        except (NotFound, Invalid):
            return None
        return data if hashlib.sha256(data).digest() == block.sha256 else None

    async def _fetch(self, entry: Entry, piece: _Piece) -> tuple[_Piece, bytes]:
        block = piece.span.block
        store, path = self._place(block.address)
        try:
            return piece, await store.get_range(path, block.offset + piece.start, block.offset + piece.stop)
        except NotFound as error:
            raise _gone(entry, piece.span) from error
        except Invalid as error:
            if _may_change(block):
                raise _changed(entry, block, "it is shorter") from error
            raise Corrupt(f"{_name(entry, piece.span)} is damaged: {error.message}") from error

    def _is_part(self, span: _Span) -> bool:
        """Of a block that can be checked."""
        block = span.block
        return (
            bool(block.sha256) and not _is_checked(span) and self._trusted.has_stamps and not is_outside(block.address)
        )

    async def _part(
        self, entry: Entry, piece: _Piece, data: bytes, seen: FileStamp | None
    ) -> tuple[bytes, FileStamp | None]:
        """The bytes of a piece, when all of its block is known to be right."""
        block = piece.span.block
        try:
            return await self._blocks.part(block, piece.start, data, seen)
        except NotFound as error:
            raise _gone(entry, piece.span) from error
        except Invalid as error:
            raise Corrupt(f"{_name(entry, piece.span)} is damaged: {error.message}") from error
        except Corrupt as error:
            await self._check_unchanged(entry, piece.span)
            raise Corrupt(f"{_name(entry, piece.span)} is damaged: {error.message}") from error

    async def _ended(self, entry: Entry, piece: _Piece, data: bytes, check: "_Check") -> bytes:
        """The last piece of a block, when all of the block is known to be right."""
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
        """The last piece and the digest of the whole block, which was read again. `before` is the digest of all that
        was handed out of it. Raises Transient where that was damaged, and the block is right now."""
        if self._cache is not None:  # it may have kept the damaged bytes
            self._cache.forget(last.span.block.address)
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
            raise Transient(f"{name} came damaged the first time, and part of it was handed out", hint="read it again")
        return data, digest

    async def _check_unchanged(self, entry: Entry, span: _Span) -> None:
        """Raises Conflict when a file that others can write to has changed. Only an entry that is the whole file knows
        its ETag; one that was put together from parts of files does not."""
        block = span.block
        if not _may_change(block) or entry.blocks != (block,) or block.offset:
            return
        known = entry.checksums.get(STORE_ETAG, entry.etag)
        try:
            stat = await self.head(block.address)
        except NotFound as error:
            raise _gone(entry, span) from error
        if stat.size != entry.size:
            raise _changed(entry, block, f"it has {stat.size} bytes instead of {entry.size}")
        if known and plain_etag(stat.etag) != known:
            raise _changed(entry, block, f"its ETag is {plain_etag(stat.etag)} instead of {known}")

    async def head(self, address: str) -> Stat:
        """What the store tells of a file, in the lake or outside. Raises NotFound."""
        store, path = self._place(address)
        return await store.head(path)

    def _place(self, address: str) -> tuple[Store, str]:
        if not is_outside(address):
            return self._store, address
        if self._outside is None:
            raise Invalid(f"{address} is outside the lake, and nobody told how to open it")
        return self._outside.find(address)


class _Check:
    """The digest of a block, as far as it has come; or none, if the block is trusted."""

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
        """Without a digest: it was right when it was read last, and is the same file still."""
        believed, self._is_believed = self._is_believed, False
        return believed and self._block is not None and self._trusted.stamp(self._block) == self._stamp

    def passed(self) -> None:
        if self._block is not None and self._trusted.stamp(self._block) == self._stamp:
            self._trusted.was_right(self._block, self._stamp)


def _spans(entry: Entry, start: int, stop: int) -> list[_Span]:
    check_span(entry.path, start, stop, entry.size)
    spans, at = [], 0
    for number, block in enumerate(entry.blocks):
        first, last = max(start - at, 0), min(stop - at, block.size)
        if first < last:
            spans.append(_Span(number, block, first, last))
        at += block.size
    if at != entry.size:
        raise Corrupt(f"{entry.path!r} has {entry.size} bytes, but its blocks have {at}")
    return spans


def _pieces(span: _Span, stop: int, size: Callable[[], int]) -> Iterator[_Piece]:
    """From its beginning to `stop`; the size is asked for before each."""
    start = span.start
    while start < stop:
        end = min(start + size(), stop)
        yield _Piece(span, start, end)
        start = end


def _small_block(entry: Entry) -> Block | None:
    """The block of a body that is small, whole, in the lake, and known by its SHA-256."""
    if len(entry.blocks) != 1 or not 0 < entry.size <= _SMALL_BYTES:
        return None
    [block] = entry.blocks
    return block if block.size == entry.size and block.sha256 and not is_outside(block.address) else None


def _is_checked(span: _Span) -> bool:
    return bool(span.block.sha256) and span.start == 0 and span.stop == span.block.size


def _may_change(block: Block) -> bool:
    """Whether others than us write to that file."""
    return is_outside(block.address) or is_workspace_file(block.address)


def _tells_by_itself(span: _Span) -> bool:
    """Of a workspace's file that is read as a whole the SHA-256 says more than the ETag: that somebody has written the
    same bytes once more harms nobody."""
    return is_workspace_file(span.block.address) and _is_checked(span)


def _name(entry: Entry, span: _Span) -> str:
    return f"{entry.path!r}: block {span.number + 1} of {len(entry.blocks)}, at {span.block.address},"


def _gone(entry: Entry, span: _Span) -> Gone:
    return Gone(f"{_name(entry, span)} is gone", hint="was it deleted by hand, or by a lifecycle rule of the bucket?")


def _changed(entry: Entry, block: Block, reason: str) -> Conflict:
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
