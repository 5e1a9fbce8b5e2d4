"""Every store and every wrapper that needs no server keeps the contract."""

from pathlib import Path

import pytest

from lochan.clock import SystemClock
from lochan.ids import Ids
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from lochan.store.open import stack
from lochan.store.protocol import Store
from lochan.store.retry import RetryStore
from tests.store_contract import MIB, StoreContract
from tests.store_faults import FaultStore, LatencyStore


class OverMemory(StoreContract):
    stream_bytes_max = 64 * MIB  # the store itself keeps the object in memory


class TestMemory(OverMemory):
    def make_store(self) -> Store:
        return MemoryStore()


class TestLocal(StoreContract):
    above = "refused"

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.root = tmp_path

    def make_store(self) -> Store:
        return LocalStore(str(self.root / "lake"), create=True)


class TestRetry(OverMemory):
    def make_store(self) -> Store:
        return RetryStore(MemoryStore(), SystemClock(), Ids())


class TestCounting(OverMemory):
    def make_store(self) -> Store:
        return CountingStore(MemoryStore(), RequestCounts())


class TestLatency(OverMemory):
    def make_store(self) -> Store:
        return LatencyStore(MemoryStore(), SystemClock(), lambda verb: 1e-6)


class TestFaultsThatNeverHappen(OverMemory):
    def make_store(self) -> Store:
        return FaultStore(MemoryStore(), SystemClock(), lambda verb, path: None)


class TestTheWholeStack(StoreContract):
    above = "refused"

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.root = tmp_path

    def make_store(self) -> Store:
        slow = LatencyStore(LocalStore(str(self.root / "lake"), create=True), SystemClock(), lambda verb: 0)
        faulty = FaultStore(slow, SystemClock(), lambda verb, path: None)
        return stack(faulty, clock=SystemClock(), ids=Ids(), immutable=lambda path: True, counts=RequestCounts())
