"""The helper processes that write small files: killed in the middle of PUTs, and gone when the server ends."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

from tests.servers.lochan import lochan_server

_PUTS = 300


def test_clients_do_not_notice_that_it_is_killed(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    with lochan_server(lake) as server, closing(server.boto3()) as s3, ThreadPoolExecutor(12) as pool:
        s3.create_bucket(Bucket="demo")
        running = list(_scribes(lake))
        assert len(running) == 2, "one of the gateway, one of the flat listener"
        puts = [pool.submit(s3.put_object, Bucket="demo", Key=f"main/{n}", Body=b"%d" % n) for n in range(_PUTS)]
        while sum(put.done() for put in puts) < _PUTS // 3:
            time.sleep(0.005)
        for pid in running:
            os.kill(pid, signal.SIGKILL)
        etags = [put.result()["ETag"] for put in puts]
        assert len(etags) == _PUTS
        bodies = list(pool.map(lambda n: s3.get_object(Bucket="demo", Key=f"main/{n}")["Body"].read(), range(_PUTS)))
        assert bodies == [b"%d" % n for n in range(_PUTS)]
        assert "threads do its work meanwhile" in server.log.read_text()


def test_none_is_left_when_the_server_has_stopped_or_was_killed(tmp_path: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        lake = tmp_path / f"lake-{number}"
        with lochan_server(lake) as server:
            workers = {_parent(pid) for pid in _scribes(lake)}
            assert workers
            if number == signal.SIGKILL:
                for worker in workers:
                    os.kill(worker, number)
        del server
        deadline = time.monotonic() + 10
        while (left := list(_scribes(lake))) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not left


def _scribes(lake: Path) -> Iterator[int]:
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes() if folder.name.isdecimal() else b""
            if b"lochan.store.scribe" in words and os.fsencode(lake) in words:
                yield int(folder.name)


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
