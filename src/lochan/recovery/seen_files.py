"""A store that counts the files that are listed and read, for the progress of the work that uses it."""

from collections.abc import AsyncIterator, Callable

from lochan.store.capabilities import Stamps, TemporaryFiles, Wrapper
from lochan.store.protocol import Stat, Store

_BATCH = 500  # files of a listing between two reports


class SeenFiles(Wrapper):
    passes_on = (Stamps, TemporaryFiles)

    def __init__(self, inner: Store, advance: Callable[[int], None]) -> None:
        super().__init__(inner)
        self._advance = advance

    async def get(self, path: str) -> bytes:
        self._advance(1)
        return await self.inner.get(path)

    async def get_stream(self, path: str) -> AsyncIterator[bytes]:
        self._advance(1)
        async for chunk in self.inner.get_stream(path):
            yield chunk

    async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        count = 0
        async for stat in self.inner.list(prefix, after):
            count += 1
            if count == _BATCH:
                self._advance(count)
                count = 0
            yield stat
        self._advance(count)
