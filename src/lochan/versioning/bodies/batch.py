"""Bodies that will be staged together: the small ones share files, so that a thousand of them cost a few syncs."""

from collections.abc import AsyncIterable, AsyncIterator, Mapping

from lochan.formats.entry import Entry
from lochan.versioning.bodies.body import PACKED_BYTES_MAX, Ready, ready
from lochan.versioning.bodies.cutter import Cutter
from lochan.versioning.bodies.write import Bodies

_PACK_BYTES = 8 << 20
_PIECE_BYTES = 2 << 20

_NONE: Mapping[str, str] = {}


class Batch:
    """Several may write to it at once."""

    def __init__(self, bodies: Bodies, mint: int) -> None:
        self._bodies = bodies
        self._mint = mint
        self._waiting: list[Ready] = []
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
                path,
                _rest(cutter),
                mint=self._mint,
                content_type=content_type,
                headers=headers,
                metadata=metadata,
            )
            self._entries.append(written)
            return
        self._waiting.append(ready(path, data, content_type=content_type, headers=headers, metadata=metadata))
        self._waiting_bytes += len(data)
        if self._waiting_bytes >= _PACK_BYTES:
            await self._pack()

    async def finish(self) -> list[Entry]:
        """All of them, in no order. Their bytes are durable."""
        await self._pack()
        return self._entries

    async def _pack(self) -> None:
        bodies, self._waiting, self._waiting_bytes = self._waiting, [], 0
        self._entries += await self._bodies.write_pack(bodies, mint=self._mint)


async def _rest(cutter: Cutter) -> AsyncIterator[bytes]:
    while piece := await cutter.take(_PIECE_BYTES):
        yield piece
