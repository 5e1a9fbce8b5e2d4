"""A sender's chunks, of whatever sizes, cut anew."""

from collections.abc import AsyncIterable


class Cutter:
    def __init__(self, chunks: AsyncIterable[bytes]) -> None:
        self._chunks = aiter(chunks)
        self._held: list[bytes | memoryview] = []  # what has come and is not taken yet, the next at the end

    async def more(self) -> bool:
        """Whether there is anything left to take."""
        while not self._held:
            chunk = await anext(self._chunks, None)
            if chunk is None:
                return False
            self.put_back(chunk)
        return True

    async def take(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end, and then none."""
        taken: list[bytes | memoryview] = []
        while size and await self.more():
            taken.append(self._cut(size))
            size -= len(taken[-1])
        if len(taken) == 1 and isinstance(taken[0], bytes):
            return taken[0]  # a whole chunk, not copied
        return b"".join(taken)

    def put_back(self, data: bytes | memoryview) -> None:
        """It is the next to be taken."""
        if data:
            self._held.append(data)

    def _cut(self, size: int) -> bytes | memoryview:
        chunk = self._held.pop()
        if len(chunk) <= size:
            return chunk
        view = memoryview(chunk)
        self.put_back(view[size:])
        return view[:size]
