"""Anonymous clients that hold connections: signed requests are always served, and no anonymous client stays long."""

import json
import socket
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from tests.integration.api.client import Client
from tests.integration.gateway.wire import Answer, Sent, Wire, signed, unsigned
from tests.servers.lochan import LochanServer, lochan_server

STRANGERS = 1_100
PATIENCE_S = 60.0  # of the tests: what is to be dropped is dropped after some two seconds
SOON = {
    "LOCHAN_SERVER__AUTHENTICATION_S": "2",
    "LOCHAN_GATEWAYS__S3__IDLE_S": "2",
    "LOCHAN_SERVER__BODY_RATE": "10kB",
    "LOCHAN_SERVER__REQUESTS": "8",
}


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    """The defaults, except that anonymous clients have a minute: on a slow machine a test must not see them go."""
    with lochan_server(
        tmp_path_factory.mktemp("crowded") / "lake", env={"LOCHAN_SERVER__AUTHENTICATION_S": "60"}
    ) as running:
        running.lochan("repo", "create", "demo")
        yield running


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    with lochan_server(tmp_path_factory.mktemp("hasty") / "lake", env=SOON) as running:
        running.lochan("repo", "create", "demo")
        yield running
        traceback = running.traceback()
    assert not traceback, traceback


def is_open(stranger: socket.socket) -> bool:
    stranger.setblocking(False)
    try:
        return stranger.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def ask_s3(server: LochanServer) -> int:
    with Wire(server.s3, PATIENCE_S) as wire:
        return wire.ask(signed(server, "v4 header", "GET", "/demo", "prefix=main%2F")).status


def ask_api(server: LochanServer) -> int:
    return Client(server.api, server.access_key, server.secret_key).ask("GET", "/api/v1/query").status


@pytest.mark.parametrize("listener, ask", [("s3", ask_s3), ("api", ask_api)])
def test_who_signs_is_served_beside_a_crowd_of_strangers(
    crowded: LochanServer, listener: str, ask: Callable[[LochanServer], int]
) -> None:
    """There are more anonymous clients than requests answered at once. Those that still are there show that it was at
    once."""
    host, _, port = getattr(crowded, listener).rpartition(":")
    with ExitStack() as ends:
        strangers = [
            ends.enter_context(socket.create_connection((host, int(port)), timeout=PATIENCE_S))
            for _ in range(STRANGERS)
        ]
        assert ask(crowded) == 200
        assert sum(map(is_open, strangers)) >= 200, "some are kept for their minute"
        deadline = time.monotonic() + PATIENCE_S
        while sum(map(is_open, strangers)) > 256 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert 200 <= sum(map(is_open, strangers)) <= 256, "the oldest were closed"
        assert ask(crowded) == 200


def trickled(address: str, begin: bytes, more: bytes = b"x") -> Answer | None:
    """The answer if the rest is sent byte by byte, without a pause; None if the connection was closed."""
    with Wire(address, PATIENCE_S) as wire:
        wire.send(begin)
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if not wire.is_silent(0.2):
                with suppress(EOFError):
                    return wire.answer()
                return None
            with suppress(ConnectionError):
                wire.send(more)
    raise AssertionError("it was never dropped")


def form(length: int) -> tuple[list[tuple[str, str]], bytes]:
    begun = b'--b\r\nContent-Disposition: form-data; name="key"\r\n\r\n'
    return [("Content-Type", "multipart/form-data; boundary=b"), ("Content-Length", str(length))], begun


def test_a_form_that_nobody_signed_is_dropped_though_it_trickles(hasty: LochanServer) -> None:
    headers, begun = form(15_000)
    sent = Sent("POST", "/demo", "", (("Host", hasty.s3), *headers))
    answer = trickled(hasty.s3, sent.head() + begun)
    assert answer is not None and (answer.status, answer.code) == (400, "RequestTimeout")
    assert answer.headers["connection"] == "close"


def test_a_body_that_trickles_is_dropped_though_it_is_signed(hasty: LochanServer) -> None:
    body = bytes(1 << 20)
    sent = signed(hasty, "v4 header", "PUT", "/demo/main/slow", "", {}, body)
    answer = trickled(hasty.s3, sent.head() + b"x")
    assert answer is not None and (answer.status, answer.code) == (400, "RequestTimeout")
    with closing(hasty.boto3()) as s3:
        assert not s3.list_objects_v2(Bucket="demo", Prefix="main/slow").get("Contents")


def test_a_slow_body_that_is_fast_enough_is_taken(hasty: LochanServer) -> None:
    """It takes twice the time for which a client may stand still."""
    piece = bytes(64 << 10)
    sent = signed(hasty, "v4 header", "PUT", "/demo/main/steady", "", {}, piece * 8)
    with Wire(hasty.s3, PATIENCE_S) as wire:
        wire.send(sent.head())
        for _ in range(8):
            time.sleep(0.5)
            wire.send(piece)
        assert wire.answer().status == 200


def test_the_body_of_a_stranger_is_not_waited_for(hasty: LochanServer) -> None:
    sent = unsigned(hasty, "PUT", "/demo/main/a", "", (("Content-Length", "60000"),))
    sent = Sent(sent.method, sent.path, "", tuple(pair for pair in sent.headers if pair[1] != "0"))
    answer = trickled(hasty.s3, sent.head())
    assert answer is not None and answer.code == "AccessDenied"


def test_a_query_that_trickles_is_dropped(hasty: LochanServer) -> None:
    basic = b64encode(f"{hasty.access_key}:{hasty.secret_key}".encode()).decode()
    headers = (("Host", hasty.api), ("Authorization", f"Basic {basic}"), ("Content-Type", "application/json"))
    sent = Sent("POST", "/api/v1/query", "", (*headers, ("Content-Length", "60000")))
    answer = trickled(hasty.api, sent.head() + b"{")
    assert answer is not None and answer.status == 408
    assert "too slowly" in json.loads(answer.body)["message"]


@pytest.mark.parametrize("listener", ["s3", "flat", "api"])
@pytest.mark.parametrize("begin", [b"GET / HTTP/1.1\r\nHost: a\r\nX-A: ", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b""])
def test_incomplete_requests_are_dropped(hasty: LochanServer, listener: str, begin: bytes) -> None:
    """Slow headers, the beginning of HTTP/2, and nothing at all."""
    address = getattr(hasty, listener)
    if begin.startswith(b"GET"):
        answer = trickled(address, begin)
        assert answer is None or answer.status in (400, 408), answer
        return
    with Wire(address, PATIENCE_S) as wire:
        wire.send(begin)
        wire._rest()  # whatever the server says first, it ends


@pytest.mark.parametrize("listener", ["s3", "api"])
def test_a_connection_is_not_kept_for_ever_for_the_next_request(hasty: LochanServer, listener: str) -> None:
    known = signed(hasty, "v4 header", "GET", "/demo", "prefix=main%2F")
    sent = known if listener == "s3" else Sent("GET", "/_health/alive", "", (("Host", "a"),))
    with Wire(getattr(hasty, listener), PATIENCE_S) as wire:
        assert wire.ask(sent).status == 200
        assert wire.ask(sent).status == 200
        assert wire.is_closed(PATIENCE_S)


def test_anonymous_clients_take_no_place_of_signed_requests(hasty: LochanServer) -> None:
    headers, begun = form(15_000)
    slow = Sent("POST", "/demo", "", (("Host", hasty.s3), *headers)).head() + begun
    with ExitStack() as ends:
        for _ in range(20):  # more than requests are answered at once
            ends.enter_context(Wire(hasty.s3, PATIENCE_S)).send(slow)
        assert [ask_s3(hasty) for _ in range(5)] == [200] * 5


def test_too_many_requests_at_once_get_slow_down(hasty: LochanServer) -> None:
    codes: list[str] = []
    deadline = time.monotonic() + PATIENCE_S
    while "SlowDown" not in codes and time.monotonic() < deadline:
        with ExitStack() as ends:
            for _ in range(12):  # whose bodies do not come; each is given up after two seconds
                slow = signed(hasty, "v4 header", "PUT", "/demo/main/late", "", {}, bytes(1 << 20)).head()
                ends.enter_context(Wire(hasty.s3, PATIENCE_S)).send(slow)
            for _ in range(4):
                with Wire(hasty.s3, PATIENCE_S) as wire:
                    codes.append(wire.ask(signed(hasty, "v4 header", "GET", "/demo", "prefix=main%2F")).code)
    assert "SlowDown" in codes
    while ask_s3(hasty) != 200 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert ask_s3(hasty) == 200


@pytest.mark.parametrize("listener", ["s3", "flat", "api"])
@pytest.mark.parametrize(
    "head, status",
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\n\r\n", None),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", None),
    ],
)
def test_a_request_names_its_host(hasty: LochanServer, listener: str, head: bytes, status: int | None) -> None:
    with Wire(getattr(hasty, listener), PATIENCE_S) as wire:
        wire.send(head)
        answer = wire.answer()
        assert answer.status == (status or (200 if listener == "api" else 403)), answer  # there it is the web page


def test_signatures_of_version_2_are_off(hasty: LochanServer) -> None:
    for form_of in ("v2 header", "v2 query"):
        with Wire(hasty.s3) as wire:
            answer = wire.ask(signed(hasty, form_of, "GET", "/demo/main/a"))
            assert (answer.status, answer.code) == (400, "InvalidRequest")
            assert b"gateways.s3.signature_v2" in answer.body


def test_the_lake_is_closed_to_other_users(hasty: LochanServer) -> None:
    found = [Path(hasty.lake), *Path(hasty.lake).rglob("*")]
    open_to_others = [each for each in found if each.lstat().st_mode & 0o077]
    assert found and not open_to_others
