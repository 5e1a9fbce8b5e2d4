"""The journal on Azure and on Google Cloud Storage: with the fast path, as it is used there, and with trimming, which
otherwise takes a day."""

from itertools import count

import pytest

from lochan.store.open import open_store
from lochan.store.protocol import Store
from tests.integration.emulators import Emulator
from tests.journal_place import ObjectPlace, Place
from tests.journal_suite import JournalSuite, TrimSuite
from tests.servers.azurite import AzuriteServer
from tests.servers.gcs import GcsServer

_prefixes = count()


class _OnEmulator:
    emulator: Emulator

    def store(self) -> Store:
        return open_store(f"{self.emulator.url('journals')}/{next(_prefixes)}", self.emulator.options)


class _OnAzure(_OnEmulator):
    @pytest.fixture(autouse=True)
    def server(self, azurite_server: AzuriteServer) -> None:
        self.emulator = azurite_server


class _OnGoogle(_OnEmulator):
    @pytest.fixture(autouse=True)
    def server(self, gcs_server: GcsServer) -> None:
        self.emulator = gcs_server


class TestAzure(_OnAzure, JournalSuite):
    def place(self) -> Place:
        return ObjectPlace(self.store(), aged=True)


class TestAzureTrimmed(_OnAzure, TrimSuite):
    def place(self) -> Place:
        return ObjectPlace(self.store(), aged=False)


class TestGoogle(_OnGoogle, JournalSuite):
    def place(self) -> Place:
        return ObjectPlace(self.store(), aged=True)


class TestGoogleTrimmed(_OnGoogle, TrimSuite):
    def place(self) -> Place:
        return ObjectPlace(self.store(), aged=False)
