"""The journal over files of a local folder."""

from pathlib import Path

import pytest

from lochan.store.local import LocalStore
from tests.journal_place import ObjectPlace, Place
from tests.journal_suite import JournalSuite, TrimSuite


class TestLocal(JournalSuite, TrimSuite):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.root = tmp_path

    def place(self) -> Place:
        return ObjectPlace(LocalStore(str(self.root / "lake"), create=True))
