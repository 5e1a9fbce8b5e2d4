"""A caller's chunks on their way to a remote store: counted, and the caller's errors told from the store's."""

from collections.abc import AsyncIterable, AsyncIterator


class Upload:
    def __init__(self, chunks: AsyncIterable[bytes]) -> None:
        self._chunks = aiter(chunks)
        self.size = 0
        self.ended = False
        self.error: Exception | None = None

    async def up_to(self, size: int) -> bytes:
        """The beginning: everything, and then `ended` is set, or a chunk more than `size`."""
        held = []
        while self.size <= size and (chunk := await anext(self._chunks, None)) is not None:
            self.size += len(chunk)
            held.append(chunk)
        self.ended = self.size <= size
        return b"".join(held)

    async def rest(self, first: bytes) -> AsyncIterator[bytes]:
        yield first
        try:
            async for chunk in self._chunks:
                self.size += len(chunk)
                yield chunk
        except Exception as error:
            self.error = error
            raise
