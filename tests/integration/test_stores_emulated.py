"""Azure and Google Cloud Storage, on emulators: the store's contract, its errors, and the probe."""

from collections.abc import AsyncIterator
from itertools import count

import pytest

from lochan.clock import SystemClock
from lochan.errors import Refused, Transient
from lochan.ids import Ids
from lochan.store.open import open_store
from lochan.store.probe import probe
from lochan.store.protocol import Store
from tests.integration.emulators import Emulator
from tests.run import run
from tests.servers.azurite import AzuriteServer
from tests.servers.gcs import GcsServer
from tests.store_contract import MIB, StoreContract, chunks, joined, paths

_prefixes = count()


class TestAzure(StoreContract):
    unfit = ("quote'\"`$\\back", "...", ".hidden/..x/x..")
    stream_bytes_max = 40 * MIB

    @pytest.fixture(autouse=True)
    def server(self, azurite_server: AzuriteServer) -> None:
        self.azurite = azurite_server

    def make_store(self) -> Store:
        return open_store(f"{self.azurite.url('contract')}/a lake+%41/{next(_prefixes)}", self.azurite.options)


class TestGoogle(StoreContract):
    stream_bytes_max = 40 * MIB

    @pytest.fixture(autouse=True)
    def server(self, gcs_server: GcsServer) -> None:
        self.gcs = gcs_server

    def make_store(self) -> Store:
        return open_store(f"{self.gcs.url('contract')}/a lake+%41/{next(_prefixes)}", self.gcs.options)


def test_the_bucket_itself_can_be_the_root(emulator: Emulator) -> None:
    async def play() -> None:
        store = open_store(emulator.url("whole"), emulator.options)
        await store.put("a/b", b"1")
        assert await paths(store) == ["a/b"]
        assert await joined(store.get_stream("a/b")) == b"1"

    run(play())


def test_a_missing_bucket_is_never_an_empty_store(emulator: Emulator) -> None:
    async def play() -> None:
        url = emulator.url("there").replace("there", "nobody-made-this")
        store = open_store(f"{url}/lake", emulator.options)
        for call in (
            store.get("k"),
            store.get_range("k", 0, 1),
            store.head("k"),
            store.put("k", b""),
            store.put_if_absent("k", b""),
            store.put_stream("k", chunks(20, MIB)),
            store.delete("k"),
            paths(store),
            joined(store.get_stream("k")),
        ):
            with pytest.raises(Refused, match="nobody-made-this/lake: the bucket does not exist"):
                await call

    run(play())


def test_wrong_credentials_are_refused_with_a_hint(emulator: Emulator) -> None:
    async def play() -> None:
        wrong = {"account_key": "bm90IHRoZSBrZXk="} if "account_key" in emulator.options else {"bearer_token": "wrong"}
        store = open_store(emulator.url("private"), emulator.options | wrong)
        for call in (store.get("k"), store.head("k"), store.put_if_absent("k", b""), store.delete("k"), paths(store)):
            with pytest.raises(Refused, match=r"40[13]") as caught:
                await call
            assert "credentials" in caught.value.hint
            assert not any(secret in str(caught.value) for secret in wrong.values() if secret != "wrong")

    run(play())


def test_a_failed_stream_is_the_clients_error_and_leaves_nothing(emulator: Emulator) -> None:
    async def source() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield bytes(MIB)
        raise FileNotFoundError("the client's own error, which is not the store's")

    async def play() -> None:
        store = open_store(f"{emulator.url('uploads')}/{next(_prefixes)}", emulator.options)
        with pytest.raises(FileNotFoundError, match="the client's own"):
            await store.put_stream("k", source())
        assert await paths(store) == []

    run(play())


def test_a_stream_is_of_one_version(emulator: Emulator) -> None:
    async def play() -> None:
        store = open_store(f"{emulator.url('versions')}/{next(_prefixes)}", emulator.options)
        await store.put("k", bytes(20 * MIB))
        stream = store.get_stream("k")
        await anext(stream)
        await store.put("k", b"\1" * 20 * MIB)
        with pytest.raises(Transient):
            await anext(stream)

    run(play())


def test_the_probe_accepts_it(emulator: Emulator) -> None:
    async def play() -> None:
        store = open_store(f"{emulator.url('probed')}/{next(_prefixes)}", emulator.options)
        report = await probe(store, Ids(), SystemClock())
        assert abs(report.skew_s) < 2
        assert report.rounds > 0
        assert await paths(store) == []

    run(play())
