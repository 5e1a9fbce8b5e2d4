"""Checkpoints on the store: `<prefix>/checkpoints/<20 digits>`. A shortcut, never evidence (rule J7).

Any valid one may be used, the newest saves most; a listing that misses some, or one that cannot be read, costs time
only. So writing one needs no care beyond the store's own.
"""

from typing import NamedTuple

from lochan.errors import AlreadyExists, Corrupt, FutureFormat, NotFound
from lochan.failpoints import fp
from lochan.formats import checkpoint as checkpoints
from lochan.formats.checkpoint import Checkpoint
from lochan.journal.state import Schema, State
from lochan.store.checked_reads import get_decoded
from lochan.store.protocol import Store

_DIGITS = 20


class FoundCheckpoint(NamedTuple):
    number: int
    modified: float  # by the store's clock


class Checkpoints:
    def __init__(self, store: Store, prefix: str) -> None:
        self._store = store
        self._folder = f"{prefix}/checkpoints/"

    async def newest_state(self, schema: Schema, journal: str) -> State:
        """The newest state that can be read, or the empty one. Listed once more where all that were listed are gone: a
        trimmer was at work, and there are newer ones."""
        for _ in range(2):
            listed = await self.found()
            for found in reversed(listed):
                checkpoint = await self._read(found.number, journal)
                if checkpoint is not None:
                    return schema.restore(checkpoint)
            if not listed:
                break
        return schema.empty(journal)

    async def write(self, checkpoint: Checkpoint) -> None:
        fp("checkpoint.before_put")
        try:
            await self._store.put_if_absent(self._path(checkpoint.number), checkpoints.encode(checkpoint))
        except AlreadyExists:
            return  # another process was first; any one will do
        fp("checkpoint.after_put")

    async def found(self) -> list[FoundCheckpoint]:
        listed = []
        async for stat in self._store.list(self._folder):
            name = stat.path.removeprefix(self._folder)
            if len(name) == _DIGITS and name.isdigit():
                listed.append(FoundCheckpoint(int(name), stat.modified))
        return listed

    async def delete(self, number: int) -> None:
        await self._store.delete(self._path(number))

    async def _read(self, number: int, journal: str) -> Checkpoint | None:
        path = self._path(number)
        try:
            checkpoint = await get_decoded(
                self._store, path, lambda data: checkpoints.decode(data, f"checkpoint {path}")
            )
        except (NotFound, Corrupt, FutureFormat):
            return None
        fits = checkpoint.journal == journal and checkpoint.number == number
        return checkpoint if fits else None

    def _path(self, number: int) -> str:
        return f"{self._folder}{number:0{_DIGITS}d}"
