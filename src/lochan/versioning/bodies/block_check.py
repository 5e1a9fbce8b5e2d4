"""Parts of blocks on a disk: a part is handed out when all of its block was read and had its SHA-256, at the stamp that
the file has still. Whoever comes while a block is being hashed waits for that, and does not hash it too."""

import hashlib
from typing import TYPE_CHECKING

from lochan.errors import Corrupt
from lochan.formats.entry import Block
from lochan.store.capabilities import FileStamp
from lochan.store.checked_reads import ReadDoubt
from lochan.store.protocol import Store
from lochan.store.threads import running_loop
from lochan.versioning.bodies.hashing import Feed, Hashing
from lochan.versioning.bodies.trusted import Trusted

if TYPE_CHECKING:
    from asyncio import Future

_Key = tuple[str, int]


class BlockCheck:
    def __init__(self, store: Store, hashing: Hashing, trusted: Trusted, piece_bytes: int) -> None:
        self._store = store
        self._hashing = hashing
        self._trusted = trusted
        self._piece_bytes = piece_bytes
        self._under_way: dict[_Key, Future[None]] = {}

    async def part(
        self, block: Block, start: int, data: bytes, seen: FileStamp | None
    ) -> tuple[bytes, FileStamp | None]:
        """`data` was read at `start` of the block just now; the bytes that are returned are right. With them comes what
        their reader hands in as `seen` with his next part of the same block. Raises Corrupt where the block is damaged,
        after a second reading; what the store raises."""
        key, stop = (block.address, block.offset), start + len(data)
        is_new = True
        while True:
            identity = self._trusted.identity(block)
            believed = self._trusted.believes(block, self._trusted.stamp(block), len(data))
            if is_new and (believed or (seen is not None and identity == seen)):
                return data, identity
            if believed:
                data, is_new = await self._fetched(block, start, stop), True
            elif key in self._under_way:
                await self._under_way[key]
                is_new = False  # of the data nobody knows whether they were read before the file was put right
            else:
                return await self._alone(key, block, start, stop), identity

    async def _alone(self, key: _Key, block: Block, start: int, stop: int) -> bytes:
        loop = running_loop()
        if loop is None:
            return await self._checked(block, start, stop)
        done = self._under_way[key] = loop.create_future()
        try:
            return await self._checked(block, start, stop)
        finally:
            del self._under_way[key]
            done.set_result(None)

    async def _checked(self, block: Block, start: int, stop: int) -> bytes:
        doubt = ReadDoubt()
        while True:
            stamp = self._trusted.stamp(block)
            part, digest = await self._hashed(block, start, stop)
            if digest == block.sha256:
                if self._trusted.stamp(block) == stamp:
                    self._trusted.was_right(block, stamp)
                return part
            if not doubt.again(digest):
                raise Corrupt("its SHA-256 is not the one it was written with")

    async def _hashed(self, block: Block, start: int, stop: int) -> tuple[bytes, bytes]:
        """These bytes of the block, and the digest of all."""
        sha256 = hashlib.sha256()
        feed = Feed(self._hashing, [sha256])
        part: list[bytes] = []
        for at in range(0, block.size, self._piece_bytes):
            piece = await self._fetched(block, at, min(at + self._piece_bytes, block.size))
            await feed.add(piece)
            part.append(piece[max(0, start - at) : max(0, stop - at)])
        await feed.done()
        return b"".join(part), sha256.digest()

    async def _fetched(self, block: Block, start: int, stop: int) -> bytes:
        return await self._store.get_range(block.address, block.offset + start, block.offset + stop)
