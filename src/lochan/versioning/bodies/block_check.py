"""Decides which blocks on a disk need not be hashed again, and checks reads of parts of blocks.

A block that was read recently and was right is trusted while its file's stamp stays the same, because hashing it takes
longer than sending it. Every now and then it is hashed anyway, because a disk can lose data without a trace. A store
behind a network has no stamps: there every read of a whole block is checked, and a read of a part is not.

A part is returned after the whole block was read and had its SHA-256, at the stamp that the file still has. A reader
that comes while a block is being hashed waits for the result and does not hash it again."""

import hashlib
from typing import TYPE_CHECKING

from lochan.errors import Corrupt
from lochan.formats.entry import Block
from lochan.runtime import running_loop
from lochan.store.capabilities import FileStamp, Stamps
from lochan.store.checked_reads import ReadDoubt
from lochan.store.protocol import Store
from lochan.store.verified_files import VerifiedFiles
from lochan.versioning.bodies.digests import Feed, Hashing

if TYPE_CHECKING:
    from asyncio import Future


_TIMES = 15  # after a check, this many times the size of the block can be read without another one
_HELD_MAX = 4_096
_LARGE_BYTES = 1 << 20  # only larger blocks are shared with other processes: a smaller one is hashed as quickly
_Key = tuple[str, int]


class TrustedBlocks:
    """Remembers which blocks were read and were right. `verified` is what other processes have found; without it each
    process hashes blocks itself."""

    def __init__(
        self,
        stamps: Stamps | None,
        verified: VerifiedFiles | None = None,
    ) -> None:
        self._stamps = stamps
        self._verified = verified
        self._left: dict[tuple[str, int, FileStamp], int] = {}  # how many bytes may still be read without a check

    @property
    def has_stamps(self) -> bool:
        return self._stamps is not None

    def stamp(self, block: Block) -> FileStamp | None:
        """Returns the stamp of the block's file. Callers compare it before and after reading the block."""
        return None if self._stamps is None else self._stamps.stamp(block.address)

    def identity(self, block: Block) -> FileStamp | None:
        """Returns the file's identity, which is like the stamp but exists for a new file too. It is for a reader that
        reads the file in pieces and has just hashed all of it."""
        return None if self._stamps is None else self._stamps.identity(block.address)

    def believes(self, block: Block, stamp: FileStamp | None, size: int | None = None) -> bool:
        """Returns whether a read of `size` bytes (by default of the whole block) needs no check, and counts those
        bytes."""
        if stamp is None:
            return False
        key = block.address, block.offset, stamp
        left = self._left.get(key)
        if left is None and self._is_verified(block, stamp):
            left = self._keep(key, block)
        if not left:
            return False
        self._left[key] = max(0, left - (block.size if size is None else size))
        return True

    def was_right(self, block: Block, stamp: FileStamp | None) -> None:
        if stamp is None:
            return
        self._keep((block.address, block.offset, stamp), block)
        if self._verified is not None and block.size >= _LARGE_BYTES:
            self._verified.add(_name(block), stamp, block.sha256)
            self._verified.save()

    def _keep(self, key: tuple[str, int, FileStamp], block: Block) -> int:
        self._left.pop(key, None)
        self._left[key] = _TIMES * block.size
        if len(self._left) > _HELD_MAX:
            del self._left[next(iter(self._left))]
        return self._left[key]

    def _is_verified(self, block: Block, stamp: FileStamp) -> bool:
        large = self._verified is not None and block.size >= _LARGE_BYTES
        return large and self._verified is not None and self._verified.has(_name(block), stamp, block.sha256)


def _name(block: Block) -> str:
    return f"{block.address}\0{block.offset}\0{block.size}"


NOBODY = TrustedBlocks(None)


class BlockCheck:
    def __init__(self, store: Store, hashing: Hashing, trusted: TrustedBlocks, piece_bytes: int) -> None:
        self._store = store
        self._hashing = hashing
        self._trusted = trusted
        self._piece_bytes = piece_bytes
        self._under_way: dict[_Key, Future[None]] = {}

    async def part(
        self, block: Block, start: int, data: bytes, seen: FileStamp | None
    ) -> tuple[bytes, FileStamp | None]:
        """Returns the right bytes of a part. `data` was just read at `start` of the block. The second value is the one
        that the reader passes as `seen` with the next part of the same block. Raises Corrupt if the block is still
        damaged after a second reading, and what the store raises."""
        key, stop = (block.address, block.offset), start + len(data)
        is_new = True
        while True:
            identity = self._trusted.identity(block)
            believed = self._trusted.believes(block, self._trusted.stamp(block), len(data))
            if is_new and (believed or (seen is not None and identity == seen)):
                return data, identity
            if believed:
                data, is_new = await self._fetch_span(block, start, stop), True
            elif key in self._under_way:
                await self._under_way[key]
                is_new = False  # the data may have been read before the file was repaired
            else:
                return await self._check_once(key, block, start, stop), identity

    async def _check_once(self, key: _Key, block: Block, start: int, stop: int) -> bytes:
        loop = running_loop()
        if loop is None:
            return await self._check_block(block, start, stop)
        done = self._under_way[key] = loop.create_future()
        try:
            return await self._check_block(block, start, stop)
        finally:
            del self._under_way[key]
            done.set_result(None)

    async def _check_block(self, block: Block, start: int, stop: int) -> bytes:
        doubt = ReadDoubt()
        while True:
            stamp = self._trusted.stamp(block)
            part, digest = await self._hash_block(block, start, stop)
            if digest == block.sha256:
                if self._trusted.stamp(block) == stamp:
                    self._trusted.was_right(block, stamp)
                return part
            if not doubt.again(digest):
                raise Corrupt("its SHA-256 is not the one it was written with")

    async def _hash_block(self, block: Block, start: int, stop: int) -> tuple[bytes, bytes]:
        """Returns these bytes of the block, and the digest of the whole block."""
        sha256 = hashlib.sha256()
        feed = Feed(self._hashing, [sha256])
        part: list[bytes] = []
        for at in range(0, block.size, self._piece_bytes):
            piece = await self._fetch_span(block, at, min(at + self._piece_bytes, block.size))
            await feed.add(piece)
            part.append(piece[max(0, start - at) : max(0, stop - at)])
        await feed.done()
        return b"".join(part), sha256.digest()

    async def _fetch_span(self, block: Block, start: int, stop: int) -> bytes:
        return await self._store.get_range(block.address, block.offset + start, block.offset + stop)
