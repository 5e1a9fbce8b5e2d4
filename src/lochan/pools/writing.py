"""A data object on its way to the store: one file, one block, so that any engine reads it as it lies there."""

from collections.abc import AsyncIterable

from lochan.formats.entry import Entry
from lochan.pools.facts import Facts, to_metadata
from lochan.pools.objects import object_path
from lochan.versioning.bodies.write import Bodies
from lochan.versioning.open_repository import OpenRepository

CONTENT_TYPE = "application/vnd.apache.parquet"
_ONE_BLOCK = 1 << 62


class ObjectWriter:
    """`mint` is the journal number that was folded before the first byte (G1): `(await repository.refs())[1]`."""

    def __init__(self, repository: OpenRepository, mint: int) -> None:
        self._ids, self._clock = repository.ids, repository.clock
        self._mint = mint
        self._bodies = Bodies(
            repository.store,
            prefix=repository.repository.id,
            clock=self._clock,
            ids=self._ids,
            writer=self._ids.ksuid(self._clock.wall()),
            block_bytes=_ONE_BLOCK,
        )

    async def write(self, chunks: AsyncIterable[bytes], facts: Facts) -> Entry:
        """Durable, and known to nobody: `landing` adds it to a branch."""
        id = self._ids.ksuid(self._clock.wall())
        return await self._bodies.write(
            object_path(id), chunks, mint=self._mint, content_type=CONTENT_TYPE, metadata=to_metadata(facts)
        )
