"""The journal over objects in memory: with a check for the segment after every answer, and with the fast path (J6)."""

from lochan.store.memory import MemoryStore
from tests.journal_place import ObjectPlace, Place
from tests.journal_suite import JournalSuite, TrimSuite


class TestMemory(JournalSuite, TrimSuite):
    def place(self) -> Place:
        return ObjectPlace(MemoryStore())


class TestMemoryByTheFastPath(JournalSuite):
    def place(self) -> Place:
        return ObjectPlace(MemoryStore(), aged=True)
