"""A sender's chunks, of whatever sizes, cut anew."""

from collections import deque
from collections.abc import AsyncIterable


class Cutter:
    def __init__(self, chunks: AsyncIterable[bytes]) -> None:
        self._chunks = aiter(chunks)
        self._held: deque[bytes | memoryview] = deque()  # what has come and is not taken yet
        self._held_bytes = 0

    async def more(self, than: int = 0) -> bool:
        """Whether there is anything left to take, or more than so many bytes."""
        while self._held_bytes <= than:
            chunk = await anext(self._chunks, None)
            if chunk is None:
                return False
            if chunk:
                self._held.append(chunk)
                self._held_bytes += len(chunk)
        return True

    async def take(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end, and then none."""
        return await self.take_some(size, size)

    async def take_some(self, least: int, most: int) -> bytes:
        """The next bytes, not copied where they came in one chunk; fewer than `least` only at the end, then none."""
        taken: list[bytes | memoryview] = []
        size = 0
        while size < min(least, most) and await self.more():
            taken.append(self._cut(most - size))
            size += len(taken[-1])
        if len(taken) == 1 and isinstance(taken[0], bytes):
            return taken[0]
        return b"".join(taken)

    def put_back(self, data: bytes | memoryview) -> None:
        """It is the next to be taken."""
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
