"""The store over a real S3 server: the contract, and its errors."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from itertools import count

import pytest

from lochan.clock import SystemClock
from lochan.errors import NotFound, Refused, Transient
from lochan.ids import Ids
from lochan.store.open import open_store
from lochan.store.probe import probe
from lochan.store.protocol import Store
from tests.run import run
from tests.servers.minio import MinioServer
from tests.store_contract import MIB, StoreContract, chunks, joined, paths

_prefixes = count()


class TestMinio(StoreContract):
    above = "unlisted"  # MinIO keeps both, but leaves `a/b` out of its lists as long as there is `a`
    stream_bytes_max = 40 * MIB

    @pytest.fixture(autouse=True)
    def server(self, minio_server: MinioServer) -> None:
        self.minio = minio_server

    def make_store(self) -> Store:
        return _open(self.minio, f"{self.minio.bucket('contract')}/a lake+%41/{next(_prefixes)}")


def test_the_bucket_itself_can_be_the_root(minio_server: MinioServer) -> None:
    async def play() -> None:
        store = _open(minio_server, minio_server.bucket("whole"))
        await store.put("a/b", b"1")
        assert await paths(store) == ["a/b"]
        assert await joined(store.get_stream("a/b")) == b"1"

    run(play())


def test_a_missing_bucket_is_never_an_empty_store(minio_server: MinioServer) -> None:
    async def play() -> None:
        store = _open(minio_server, "nobody-made-this/lake")
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
            with pytest.raises(Refused, match="s3://nobody-made-this/lake: the bucket does not exist"):
                await call

    run(play())


def test_wrong_credentials_are_refused_with_a_hint(minio_server: MinioServer) -> None:
    async def play() -> None:
        bucket = minio_server.bucket("private")
        options = minio_server.options | {"secret_access_key": "the wrong one"}
        store = open_store(f"s3://{bucket}", options)
        for call in (store.get("k"), store.head("k"), store.put_if_absent("k", b""), store.delete("k"), paths(store)):
            with pytest.raises(Refused, match="credentials") as caught:
                await call
            assert "the wrong one" not in str(caught.value)

    run(play())


def test_a_failed_stream_leaves_no_upload_behind(minio_server: MinioServer) -> None:
    bucket = minio_server.bucket("uploads")

    async def broken(size: int) -> None:
        async def source() -> AsyncIterator[bytes]:
            for _ in range(20):
                yield bytes(size)
            raise FileNotFoundError("the client's own error, which is not the store's")

        with pytest.raises(FileNotFoundError, match="the client's own"):
            await _open(minio_server, bucket).put_stream("k", source())

    run(broken(MIB))
    run(broken(10))
    with closing(minio_server.boto3()) as client:
        assert "Uploads" not in client.list_multipart_uploads(Bucket=bucket)


def test_environment_does_not_leak_into_explicit_options(
    minio_server: MinioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "AWS_SESSION_TOKEN": "of somebody else",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1",
        "AWS_REGION": "mars-1",
        "AWS_SKIP_SIGNATURE": "true",
    }.items():
        monkeypatch.setenv(name, value)

    async def play() -> None:
        store = _open(minio_server, minio_server.bucket("environment"))
        await store.put("k", b"1")
        assert await store.get("k") == b"1"

    run(play())


def test_a_stream_is_of_one_version(minio_server: MinioServer) -> None:
    async def play() -> None:
        store = _open(minio_server, minio_server.bucket("versions"))
        await store.put("k", bytes(20 * MIB))
        stream = store.get_stream("k")
        await anext(stream)
        await store.put("k", b"\1" * 20 * MIB)
        with pytest.raises(Transient, match="pre-conditions"):
            await anext(stream)

    run(play())


def test_probe_accepts_it(minio_server: MinioServer) -> None:
    async def play() -> None:
        store = _open(minio_server, minio_server.bucket("probed"))
        report = await probe(store, Ids(), SystemClock())
        assert abs(report.skew_s) < 2
        assert report.latency_s > 0
        assert await paths(store) == []

    run(play())


def test_a_missing_key_is_not_found_by_many_at_once(minio_server: MinioServer) -> None:
    async def play() -> None:
        store = _open(minio_server, minio_server.bucket("there"))
        answers = await asyncio.gather(*(store.get("k") for _ in range(8)), return_exceptions=True)
        assert {type(answer) for answer in answers} == {NotFound}

    run(play())


def _open(server: MinioServer, place: str) -> Store:
    return open_store(f"s3://{place}", server.options)
