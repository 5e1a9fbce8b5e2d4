"""A data object on its way to the store: one file, one block, so that any engine reads it as it lies there."""

from collections.abc import AsyncIterable

from lochan.clock import Clock
from lochan.formats.entry import Entry
from lochan.ids import Ids
from lochan.pools.facts import Facts, to_metadata
from lochan.pools.objects import object_path
from lochan.store.protocol import Store
from lochan.versioning.bodies.write import Bodies
from lochan.versioning.open_repository import OpenRepository

CONTENT_TYPE = "application/vnd.apache.parquet"
_ONE_BLOCK = 1 << 62


class ObjectWriter:
    """`mint` is the journal number that was folded before the first byte (G1), by whoever lands the objects; so it may
    be somebody on another machine who writes them."""

    def __init__(self, store: Store, repository_id: str, mint: int, *, clock: Clock, ids: Ids) -> None:
        self._ids, self._clock = ids, clock
        self._mint = mint
        self._bodies = Bodies(
            store,
            prefix=repository_id,
            clock=clock,
            ids=ids,
            writer=ids.ksuid(clock.wall()),
            block_bytes=_ONE_BLOCK,
        )

    @classmethod
    def of(cls, repository: OpenRepository, mint: int) -> "ObjectWriter":
        """With `(await repository.refs())[1]` as its mint."""
        return cls(repository.store, repository.repository.id, mint, clock=repository.clock, ids=repository.ids)

    async def write(self, chunks: AsyncIterable[bytes], facts: Facts) -> Entry:
        """Durable, and known to nobody: `commit_objects` adds it to a branch."""
        id = self._ids.ksuid(self._clock.wall())
        return await self._bodies.write(
            object_path(id), chunks, mint=self._mint, content_type=CONTENT_TYPE, metadata=to_metadata(facts)
        )
