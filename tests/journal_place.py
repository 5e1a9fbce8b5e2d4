"""The location of a test's journal, and what a test can do to it behind the journal's back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from lochan.clock import SystemClock
from lochan.errors import AlreadyExists
from lochan.formats.lake_events import RepositoryCreated
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.journal.group import AppendRequest
from lochan.journal.journal import Journal, Settings
from lochan.journal.slots import ObjectSlots, SlotListing, Slots
from lochan.journal.state import Schema, State, StatePart
from lochan.store.protocol import Store
from lochan.versioning.repositories import Repositories

JOURNAL = "_lake"
ACTOR = Actor("ada", "test/1", "127.0.0.1")
CLOCK = SystemClock()
IDS = Ids()
QUICK = Settings(writer="test", patience_s=0.05)  # for a test that waits until an append is given up


class Place(ABC):
    """Each call of `slots` and of `journal` is another process's: nothing is shared but what is stored."""

    group = 4

    def __init__(self, store: Store) -> None:
        self.store = store
        self.alarms: list[str] = []
        self._journals: list[Journal] = []

    @abstractmethod
    def slots(self) -> Slots: ...

    @abstractmethod
    async def overwrite(self, number: int, data: bytes) -> None: ...

    @abstractmethod
    async def erase(self, number: int) -> None: ...

    async def bytes_of(self, number: int) -> bytes:
        data = await self.slots().read(number)
        assert data is not None
        return data

    async def journal(
        self,
        slots: Slots | None = None,
        *,
        settings: Settings | None = None,
        parts: tuple[type[StatePart], ...] = (Repositories,),
        **schema: Any,
    ) -> Journal:
        opened = await Journal.open(
            JOURNAL,
            Schema(*parts, alarm=self.alarms.append, **schema),
            slots or self.slots(),
            self.store,
            CLOCK,
            IDS,
            settings or Settings(writer="test"),
        )
        self._journals.append(opened)
        return opened

    async def close(self) -> None:
        for journal in self._journals:
            await journal.close()


class ObjectPlace(Place):
    def __init__(self, store: Store, *, aged: bool = False) -> None:
        super().__init__(store)
        self._aged = aged

    def slots(self) -> ObjectSlots:
        return ObjectSlots(self.store, JOURNAL, aged=self._aged, group=self.group)

    async def overwrite(self, number: int, data: bytes) -> None:
        await self.store.put(self.slots().slot_path(number), data)

    async def erase(self, number: int) -> None:
        await self.store.delete(self.slots().slot_path(number))


class Interposed:
    """Slots with hooks in between that may do something else than the request. Each hook is called in place of the real
    call, which it gets as an argument."""

    def __init__(
        self,
        slots: Slots,
        *,
        create: Callable[[Slots, int, bytes], Awaitable[None]] | None = None,
        read: Callable[[Slots, int], Awaitable[bytes | None]] | None = None,
        read_segment: Callable[[Slots, int], Awaitable[bytes | None]] | None = None,
    ) -> None:
        self.slots = slots
        self._create = create
        self._read = read
        self._read_segment = read_segment

    @property
    def group(self) -> int:
        return self.slots.group

    @property
    def aged(self) -> bool:
        return self.slots.aged

    @property
    def name(self) -> str:
        return self.slots.name

    async def create(self, number: int, data: bytes) -> None:
        await (self._create(self.slots, number, data) if self._create else self.slots.create(number, data))

    async def read(self, number: int) -> bytes | None:
        return await (self._read(self.slots, number) if self._read else self.slots.read(number))

    async def read_many(self, first: int, count: int) -> list[bytes | None]:
        if self._read is None:
            return await self.slots.read_many(first, count)
        return [await self._read(self.slots, number) for number in range(first, first + count)]

    def ends_at(self, number: int) -> bool:
        return False  # so that every question goes through what a test has put in its way

    async def delete_many(self, numbers: Sequence[int]) -> None:
        await self.slots.delete_many(numbers)

    async def first_after(self, number: int) -> int | None:
        return await self.slots.first_after(number)

    def listed(self, below: int) -> AsyncIterator[SlotListing]:
        return self.slots.listed(below)

    async def create_segment(self, group: int, data: bytes) -> None:
        await self.slots.create_segment(group, data)

    async def read_segment(self, group: int) -> bytes | None:
        return await (self._read_segment(self.slots, group) if self._read_segment else self.slots.read_segment(group))

    async def has_segment(self, group: int) -> bool:
        return await self.slots.has_segment(group)

    async def segment_modified(self, group: int) -> float | None:
        return await self.slots.segment_modified(group)


def create(name: str, key: str = "", fingerprint: bytes = b"") -> AppendRequest:
    """The wish that a repository of this name be made."""
    made = RepositoryCreated(IDS.ksuid(CLOCK.wall()), name, "files", "main")
    return AppendRequest(ACTOR, lambda state: [made], key, fingerprint)


async def tried(journal: Journal, request: AppendRequest) -> str | None:
    """The new repository's id, or None if the name was taken."""
    try:
        result = await journal.submit(request)
    except AlreadyExists:
        return None
    assert isinstance(result, str)
    return result


async def fill(journal: Journal, count: int, prefix: str = "repo") -> None:
    """Appends that many records, one request each."""
    for index in range(count):
        await journal.submit(create(f"{prefix}-{index}"))


def names(state: State) -> list[str]:
    return [repository.name for repository in state.of(Repositories).all()]
