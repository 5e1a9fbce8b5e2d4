"""A body of any size goes through in bounded memory, in and out."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tests.integration.gateway.wire import Wire, signed
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.memory import family, own

LIMIT = 300 << 20
SLOW = 60  # clients at once


class Endless:
    """A stream of so many bytes that is in no memory; each MiB is another."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._number = 0

    def read(self, size: int = -1) -> bytes:
        size = min(self._left, size if size >= 0 else self._left)
        self._left -= size
        self._number += 1
        return self._number.to_bytes(8, "big").ljust(size, b"x")[:size]


@contextmanager
def watched(server: LochanServer) -> Iterator[list[int]]:
    """The largest that any process of the server was meanwhile, at the end of the list."""
    peaks, stop = [0], threading.Event()

    def watch() -> None:
        while not stop.wait(0.02):
            peaks.append(max(peaks[-1], *(own(pid) for pid in family(server.process.pid))))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peaks
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize(
    "size", [400 << 20, pytest.param(10 << 30, marks=[pytest.mark.full, pytest.mark.timeout(3600)])]
)
def test_a_large_object_in_parts(tmp_path: Path, size: int) -> None:
    with lochan_server(tmp_path / "lake") as server, closing(server.boto3()) as s3:
        s3.create_bucket(Bucket="demo")
        s3.put_object(Bucket="demo", Key="main/warm", Body=b"x")
        with watched(server) as peaks:
            s3.upload_fileobj(Endless(size), "demo", "main/large")
        assert peaks[-1] < LIMIT, f"{peaks[-1] >> 20} MiB"
        assert s3.head_object(Bucket="demo", Key="main/large")["ContentLength"] == size
        with watched(server) as peaks, open(os.devnull, "wb") as nowhere:  # noqa: PTH123
            s3.download_fileobj("demo", "main/large", nowhere)
        assert peaks[-1] < LIMIT, f"{peaks[-1] >> 20} MiB"  # boto3 asks for ten spans at once


def test_a_large_object_in_one_put(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with file.open("wb") as out:
        source = Endless(400 << 20)
        while piece := source.read(1 << 20):
            out.write(piece)
    with lochan_server(tmp_path / "lake") as server, closing(server.boto3()) as s3:
        s3.create_bucket(Bucket="demo")
        with watched(server) as peaks, file.open("rb") as body:
            s3.put_object(Bucket="demo", Key="main/large", Body=body)
        assert peaks[-1] < LIMIT, f"{peaks[-1] >> 20} MiB"
        with watched(server) as peaks:
            stream = s3.get_object(Bucket="demo", Key="main/large")["Body"]
            assert sum(len(piece) for piece in stream.iter_chunks(1 << 20)) == 400 << 20
        assert peaks[-1] < LIMIT, f"{peaks[-1] >> 20} MiB"


def test_many_clients_that_take_nothing(tmp_path: Path) -> None:
    """Each client asks for a large object and reads no byte of it: all that is read for them shares one memory."""
    with lochan_server(tmp_path / "lake") as server, closing(server.boto3()) as s3:
        s3.create_bucket(Bucket="demo")
        s3.upload_fileobj(Endless(64 << 20), "demo", "main/large")
        with watched(server) as peaks, ExitStack() as open:
            for _ in range(SLOW):
                wire = open.enter_context(Wire(server.s3))
                wire.send(signed(server, "v4 header", "GET", "/demo/main/large").encoded())
            time.sleep(3)  # time to read too much, if it would
            assert s3.head_object(Bucket="demo", Key="main/large")["ContentLength"] == 64 << 20
        assert peaks[-1] < LIMIT, f"{peaks[-1] >> 20} MiB"  # with 16 MiB each it would be 1 GiB
        with watched(server), closing(s3.get_object(Bucket="demo", Key="main/large")["Body"]) as stream:
            assert sum(len(piece) for piece in stream.iter_chunks(1 << 20)) == 64 << 20
