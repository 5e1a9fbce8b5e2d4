"""The storage of a journal: numbered slots that are each created once, segments that outlive them, and checkpoints.

There are two implementations of slots: objects of the store (here) and rows of PostgreSQL (`postgres.py`). Both only
carry bytes. `tail.py`, `append.py` and `trim.py` decide what an answer means.

A checkpoint is a shortcut, never evidence (rule J7). Any valid one may be used, and the newest saves the most work. A
listing that misses some, or a checkpoint that cannot be read, only costs time."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import NamedTuple, Protocol

from lochan.errors import AlreadyExists, Corrupt, FutureFormat, NotFound
from lochan.failpoints import fp
from lochan.formats import checkpoint as checkpoints
from lochan.formats.checkpoint import Checkpoint
from lochan.journal.state import Schema, State
from lochan.store.capabilities import AbsenceTest, FileReuse, capability
from lochan.store.checked_reads import get_decoded
from lochan.store.protocol import Store

GROUP = 256  # records in a segment: group g holds numbers g*256 to g*256+255, from 1 on. On disk, never changes.
_DIGITS = 20
_DELETED_AT_ONCE = 16


class SlotListing(NamedTuple):
    number: int
    modified: float  # by the store's clock, in seconds since 1970


class Slots(Protocol):
    @property
    def group(self) -> int:
        """The number of records in a segment. It is 256 on every lake; the simulator's journals have smaller
        segments."""

    @property
    def aged(self) -> bool:
        """Whether rule J6 applies here: the fast path is used, and so nothing younger than a day is trimmed. It is
        False where looking up a segment costs nothing (disk, PostgreSQL): there every answer is checked by J5."""

    @property
    def name(self) -> str:
        """The journal's name in messages."""

    async def create(self, number: int, data: bytes) -> None:
        """Creates the record. Raises AlreadyExists, and Transient or Unknown if the record may or may not have been
        created."""

    async def read(self, number: int) -> bytes | None:
        """Returns the record, or None if the slot is absent. J5 says what either answer means."""

    async def read_many(self, first: int, count: int) -> list[bytes | None]:
        """Returns `count` slots from `first` on, read in parallel if that saves time. It may stop after the first
        absent one."""

    def ends_at(self, number: int) -> bool:
        """Returns whether slot `number`, and then its segment (J5), are absent, as far as can be seen without waiting.
        False proves nothing."""

    async def delete_many(self, numbers: Sequence[int]) -> None:
        """Deletes slots. Missing slots are no error. If it fails, some may be deleted."""

    async def first_after(self, number: int) -> int | None:
        """Returns the lowest slot with a greater number, to find a gap, or None. The answer may be stale."""

    def listed(self, below: int) -> AsyncIterator[SlotListing]:
        """Yields the slots with a number below `below`, for the trimmer. The answer may be stale."""

    async def create_segment(self, group: int, data: bytes) -> None:
        """Creates a segment by put-if-absent under the group's fixed name, which is durable when this returns. Raises
        the same errors as `create`."""

    async def read_segment(self, group: int) -> bytes | None: ...

    async def has_segment(self, group: int) -> bool: ...

    async def segment_modified(self, group: int) -> float | None:
        """Returns the time when the segment was written, by the store's clock, or None if it is absent."""


class ObjectSlots:
    """Slots in the store: records at `<prefix>/journal/<20 digits>`, segments at `<prefix>/journal/seg/<20 digits>`."""

    def __init__(self, store: Store, prefix: str, *, aged: bool, group: int = GROUP) -> None:
        self._store = store
        self._prefix = prefix
        self._aged = aged
        self._group = group
        # A disk is asked very often whether it has a new record, and usually it has none.
        self._absence = capability(store, AbsenceTest)
        # J5: what a trimmed slot says is ignored, because its segment is there. So it does no harm that a slow reader
        # may find something else in it.
        self._reuse = capability(store, FileReuse)
        self._end = 0
        self._is_end: Callable[[], bool] = lambda: False

    @property
    def group(self) -> int:
        return self._group

    @property
    def aged(self) -> bool:
        return self._aged

    @property
    def name(self) -> str:
        return f"{self._store.url.rstrip('/')}/{self._prefix}/journal"

    async def create(self, number: int, data: bytes) -> None:
        await self._store.put_if_absent(self.slot_path(number), data)

    async def read(self, number: int) -> bytes | None:
        return await self._get(self.slot_path(number))

    async def read_many(self, first: int, count: int) -> list[bytes | None]:
        if count > 1 and self._aged:  # a remote store: read all in parallel
            import asyncio

            return await asyncio.gather(*(self.read(number) for number in range(first, first + count)))
        found: list[bytes | None] = []
        for number in range(first, first + count):
            found.append(await self.read(number))
            if found[-1] is None:
                break
        return found

    def ends_at(self, number: int) -> bool:
        if self._absence is None:
            return False
        if self._end != number:
            self._end = number
            self._is_end = self._absence.absence(self.slot_path(number), self.segment_path(number // self._group))
        return self._is_end()

    async def delete_many(self, numbers: Sequence[int]) -> None:
        if self._reuse is not None:
            for at in range(0, len(numbers), _DELETED_AT_ONCE):
                await self._reuse.delete_for_reuse(
                    [self.slot_path(number) for number in numbers[at : at + _DELETED_AT_ONCE]]
                )
                fp("trim.deleted_slot")
            return
        if not self._aged:
            for number in numbers:
                await self._delete(number)
            return
        import asyncio

        for at in range(0, len(numbers), _DELETED_AT_ONCE):  # for a remote store, some at a time
            await asyncio.gather(*map(self._delete, numbers[at : at + _DELETED_AT_ONCE]))

    async def _delete(self, number: int) -> None:
        await self._store.delete(self.slot_path(number))
        fp("trim.deleted_slot")

    async def first_after(self, number: int) -> int | None:
        async for slot in self._slots_after(number):
            return slot.number
        return None

    async def listed(self, below: int) -> AsyncIterator[SlotListing]:
        async for slot in self._slots_after(0):
            if slot.number >= below:
                return
            yield slot

    async def _slots_after(self, number: int) -> AsyncIterator[SlotListing]:
        folder = f"{self._prefix}/journal/"
        async for stat in self._store.list(folder, self.slot_path(number)):
            name = stat.path.removeprefix(folder)
            if len(name) != _DIGITS or not name.isdigit():
                return  # slots sort before everything else in the folder
            yield SlotListing(int(name), stat.modified)

    async def create_segment(self, group: int, data: bytes) -> None:
        await self._store.put_if_absent(self.segment_path(group), data)

    async def read_segment(self, group: int) -> bytes | None:
        return await self._get(self.segment_path(group))

    async def has_segment(self, group: int) -> bool:
        return await self.segment_modified(group) is not None

    async def segment_modified(self, group: int) -> float | None:
        try:
            return (await self._store.head(self.segment_path(group))).modified
        except NotFound:
            return None

    def slot_path(self, number: int) -> str:
        return f"{self._prefix}/journal/{number:0{_DIGITS}d}"

    def segment_path(self, group: int) -> str:
        return f"{self._prefix}/journal/seg/{group:0{_DIGITS}d}"

    async def _get(self, path: str) -> bytes | None:
        try:
            return await self._store.get(path)
        except NotFound:
            return None


_NUMBER_DIGITS = 20


class FoundCheckpoint(NamedTuple):
    number: int
    modified: float  # by the store's clock


class Checkpoints:
    def __init__(self, store: Store, prefix: str) -> None:
        self._store = store
        self._folder = f"{prefix}/checkpoints/"

    async def newest_state(self, schema: Schema, journal: str) -> State:
        """Returns the newest readable state, or the empty one. If all listed checkpoints are gone, they are listed
        again: a trimmer was at work, and there are newer ones."""
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
            return  # another process was first; its checkpoint is as good
        fp("checkpoint.after_put")

    async def found(self) -> list[FoundCheckpoint]:
        listed = []
        async for stat in self._store.list(self._folder):
            name = stat.path.removeprefix(self._folder)
            if len(name) == _NUMBER_DIGITS and name.isdigit():
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
        return f"{self._folder}{number:0{_NUMBER_DIGITS}d}"
