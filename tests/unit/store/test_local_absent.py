"""The quick check of a disk for a new slot."""

import shutil
from pathlib import Path

import pytest

from lochan.errors import Refused
from lochan.journal.slots import ObjectSlots
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from tests.run import run


def test_nothing_there_is_seen_and_something_is_asked_for(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path / "lake"), create=True)
    assert store.absence("a/b", "c")()
    run(store.put("c", b"x"))
    assert not store.absence("a/b", "c")()
    assert store.absence("a/b")()
    assert not store.absence("c/d")(), "a file where a folder should be: whoever asks properly is told"


def test_a_lake_that_is_gone_is_not_an_empty_one(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path / "lake"), create=True)
    shutil.rmtree(tmp_path / "lake")
    with pytest.raises(Refused):
        store.absence("a")()


def test_the_end_of_a_journal(tmp_path: Path) -> None:
    slots = ObjectSlots(LocalStore(str(tmp_path / "lake"), create=True), "j", aged=False, group=4)
    assert slots.ends_at(5)
    run(slots.create(5, b"record"))
    assert not slots.ends_at(5)
    assert slots.ends_at(6)
    run(slots.create_segment(1, b"segment"))
    assert not slots.ends_at(6), "where a segment is, it alone decides"
    assert not ObjectSlots(MemoryStore(), "j", aged=False).ends_at(1), "elsewhere nothing is seen at once"
