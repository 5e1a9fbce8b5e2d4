"""Capabilities beyond the nine verbs of a store are asked for in one place, and a wrapper hides those it does not pass
on.
"""

from pathlib import Path

import pytest

from lochan.clock import SystemClock
from lochan.ids import Ids
from lochan.store import capabilities
from lochan.store.capabilities import Stamps, Tagging, capability, with_tags
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from lochan.store.open import stack
from lochan.store.protocol import Store

OF_A_DISK = [
    capabilities.PrivateRoot,
    capabilities.SmallReads,
    capabilities.Stamps,
    capabilities.AbsenceTest,
    capabilities.FileReuse,
    capabilities.StreamIfAbsent,
    capabilities.WriterProcess,
]


@pytest.fixture
def disk(tmp_path: Path) -> Store:
    return LocalStore(str(tmp_path / "lake"), create=True)


@pytest.mark.parametrize("kind", OF_A_DISK, ids=lambda kind: kind.__name__)
def test_a_disk_has_them_and_memory_has_not(disk: Store, kind: type) -> None:
    assert capability(disk, kind) is disk
    assert capability(MemoryStore(), kind) is None


def test_a_wrapper_hides_what_it_does_not_pass_on(disk: Store) -> None:
    patient = stack(disk, clock=SystemClock(), ids=Ids())
    assert [kind for kind in OF_A_DISK if capability(patient, kind)] == []
    counting = CountingStore(disk, RequestCounts())
    assert [kind for kind in OF_A_DISK if capability(counting, kind)] == [Stamps]
    assert isinstance(capability(counting, Stamps), LocalStore)
    assert capability(CountingStore(patient, RequestCounts()), Stamps) is None


def test_tags_go_where_a_store_takes_them() -> None:
    memory = MemoryStore()
    assert with_tags(memory, {"a": "1"}) is memory
    counting = CountingStore(memory, RequestCounts())
    assert capability(counting, Tagging) is counting
    assert with_tags(counting, {"a": "1"}) is not counting
