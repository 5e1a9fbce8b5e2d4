"""Opens journals of each kind, and reports those that cannot be opened."""

import sys

import pytest

from lochan.errors import FutureFormat, Invalid
from lochan.formats.lake_file import LakeFile
from lochan.journal.journal import Settings
from lochan.journal.open import Journals
from lochan.journal.state import Schema
from lochan.store.memory import MemoryStore
from lochan.versioning.repositories import Repositories
from tests.journal_place import CLOCK, IDS, JOURNAL, create, names
from tests.run import run


def journals(kind: str, url: str = "") -> Journals:
    return Journals(MemoryStore(), LakeFile(1, "lake", kind), url, CLOCK, IDS, Settings())


def test_journals_on_the_store() -> None:
    async def play() -> None:
        opened = journals("store")
        await opened.prepare()
        journal = await opened.open(JOURNAL, (Repositories,))
        await journal.submit(create("photos"))
        assert names(await (await opened.open(JOURNAL, (Repositories,))).fresh()) == ["photos"]
        await opened.close()

    run(play())


def test_a_kind_that_is_not_known() -> None:
    with pytest.raises(Invalid, match="store, postgres"):
        journals("paper")


def test_postgres_without_a_url() -> None:
    with pytest.raises(Invalid, match="LOCHAN_JOURNAL__POSTGRES__URL"):
        run(journals("postgres").prepare())


def test_postgres_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "lochan.journal.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(Invalid, match=r"lochan\[postgres\]"):
        run(journals("postgres", "postgresql://localhost/x").prepare())


def test_a_checkpoint_with_a_part_that_is_not_known_is_not_read_without_it() -> None:
    """A process that left it out would write the next checkpoint without it, and everybody would have forgotten it."""

    class Later(Repositories):
        name = "later"
        events = ()

    state = Schema(Repositories, Later).empty("journal")
    checkpoint = state.checkpoint()
    assert Schema(Repositories, Later).restore(checkpoint).number == 0
    with pytest.raises(FutureFormat, match="later"):
        Schema(Repositories).restore(checkpoint)
