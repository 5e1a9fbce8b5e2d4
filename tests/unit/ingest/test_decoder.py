"""A decoder is expendable: however it ends, its parent learns it, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lochan.errors import Transient
from lochan.ingest.channel import DONE, TooLong
from lochan.ingest.decoder import Decoder, DecoderDied, DecoderKilled, ForkServer, fork_server
from tests.servers.processes import decoders, fork_servers
from tests.unit.ingest.bad_decoders import MODULE


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    made = ForkServer(MODULE)
    yield made
    made.close()


def begun(server: ForkServer, job: str) -> Decoder:
    decoder = server.start()
    decoder.send(b"Q", job.encode())
    return decoder


def result_of(server: ForkServer, job: str) -> Any:
    with begun(server, job) as decoder:
        message = decoder.receive(1 << 20)
        assert message.kind == DONE
        return msgspec.msgpack.decode(message.data)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("job", "ended", "crashed"),
    [
        (f"signal {int(signal.SIGSEGV)}", signal.SIGSEGV, True),
        (f"signal {int(signal.SIGABRT)}", signal.SIGABRT, True),
        (f"signal {int(signal.SIGKILL)}", signal.SIGKILL, False),
        ("processor", signal.SIGXCPU, False),
        ("exit 3", 0, True),
        ("half", 0, True),
    ],
)
def test_the_error_says_how_it_died(server: ForkServer, job: str, ended: int, crashed: bool) -> None:
    with begun(server, job) as decoder, pytest.raises(DecoderDied) as died:
        decoder.receive(1 << 20)
    assert (died.value.signal, died.value.crashed) == (ended, crashed)
    assert decoders(os.getpid()) == []


def test_one_that_sleeps_is_dead_when_it_is_closed(server: ForkServer) -> None:
    with begun(server, "sleep") as decoder:
        decoder.receive(1 << 20)
        assert len(decoders(os.getpid())) == 1
    assert decoders(os.getpid()) == []


def test_another_thread_kills_it(server: ForkServer) -> None:
    with begun(server, "sleep") as decoder:
        decoder.receive(1 << 20)
        killer = threading.Timer(0.05, decoder.kill)
        killer.start()
        with pytest.raises(DecoderKilled):
            decoder.receive(1 << 20)
        killer.join()
    decoder.kill()
    assert decoders(os.getpid()) == []


def test_a_message_that_would_be_too_long_is_not_read(server: ForkServer) -> None:
    with begun(server, "long") as decoder, pytest.raises(TooLong):
        decoder.receive(1 << 20)


def test_it_inherits_nothing_from_its_parent(
    server: ForkServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    own = ForkServer(MODULE)
    try:
        with (tmp_path / "open").open("wb") as file:
            os.set_inheritable(file.fileno(), True)
            assert "hidden" not in result_of(own, "environment").values()
            assert [name for name in result_of(own, "files") if not name.startswith("socket:")] == []
            assert len(result_of(own, "files")) == 1, "its channel"
    finally:
        own.close()


def test_limits_are_the_kernels(server: ForkServer, tmp_path: Path) -> None:
    assert result_of(server, f"memory {100 << 20}") == 100 << 20
    assert result_of(server, f"memory {4 << 30}") == "no memory"
    assert result_of(server, f"disk {tmp_path / 'small'} 1000") == "written"
    assert result_of(server, f"disk {tmp_path / 'large'} {2 << 20}") == "File too large"


@pytest.mark.thorough
def test_another_fork_server_comes_where_one_was_killed() -> None:
    own = ForkServer(MODULE)
    try:
        with begun(own, "sleep") as decoder:
            decoder.receive(1 << 20)
            (forked,) = decoders(os.getpid())
            os.kill(forked.parent, signal.SIGKILL)
            with pytest.raises(Transient):
                decoder.receive(1 << 20)
        for _ in range(2_000):
            if not Path(f"/proc/{forked.pid}").exists():
                break
            threading.Event().wait(0.01)
        assert not Path(f"/proc/{forked.pid}").exists(), "they end with it"
        assert result_of(own, "environment")["TZ"] == "UTC"
    finally:
        own.close()


@pytest.mark.thorough
def test_those_that_end_while_they_are_given_up_leave_the_fork_server_alive(server: ForkServer) -> None:
    """It is busy with a fork and then learns of both at once. That does not happen each time, so the test tries several
    times."""
    servers: set[int] = set()
    for _ in range(8):
        given_up = [begun(server, "sleep") for _ in range(20)]
        for each in given_up:
            each.receive(1 << 20)
        forked = decoders(os.getpid())
        servers |= {each.parent for each in forked}
        busy = [server.start() for _ in range(20)]
        for process, decoder in zip(forked, given_up, strict=True):
            os.kill(process.pid, signal.SIGKILL)
            decoder.kill()
        for decoder in (*given_up, *busy):
            decoder.close()
    assert len(servers) == 1, "another one had to be started"


def test_it_ends_with_its_parent() -> None:
    own = ForkServer(MODULE)
    assert result_of(own, "environment")
    before = len(fork_servers(os.getpid()))
    own.close()
    own.close()
    assert len(fork_servers(os.getpid())) == before - 1
    assert fork_server(MODULE) is fork_server(MODULE)
