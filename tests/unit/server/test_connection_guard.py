"""Who may keep a connection: with a clock that the test moves, on sockets of this process."""

import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from lochan.server.connections import ConnectionGuard, client_text, is_loopback
from lochan.server.settings import ClientLimits
from tests.unit.store.clocks import StillClock

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the sockets are not found")
LIMITS = ClientLimits(anonymous=6, anonymous_per_address=4, requests=2, authentication_s=15)


class Place:
    """A listener without a server: the connections are accepted and left as they are."""

    def __init__(self, ends: ExitStack) -> None:
        self._ends = ends
        self._listener = ends.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.clock = StillClock()
        self.guard = ConnectionGuard(LIMITS, self.clock, self._listener.getsockname()[1])
        self.accepted: list[socket.socket] = []

    def connect(self, host: str = "127.0.0.1") -> socket.socket:
        """Seen by the guard at once, so that it is younger than those before it."""
        address = self._listener.getsockname()
        client = self._ends.enter_context(socket.create_connection(address, source_address=(host, 0)))
        self.accepted.append(self._ends.enter_context(self._listener.accept()[0]))
        self.clock.now += 0.001
        self.guard.look()
        return client

    def later(self, seconds: float) -> None:
        self.clock.now += seconds
        self.guard.look()


@pytest.fixture
def place() -> Iterator[Place]:
    with ExitStack() as ends:
        yield Place(ends)


def name(client: socket.socket) -> str:
    host, port = client.getsockname()[:2]
    return client_text(host, port)


def is_open(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1) != b""
    except BlockingIOError:
        return True


def test_one_that_sends_no_request_is_closed_in_time(place: Place) -> None:
    idle = place.connect()
    place.later(14.9)
    assert is_open(idle)
    place.later(0.2)
    assert not is_open(idle)


def test_one_with_a_request_under_way_stays(place: Place) -> None:
    busy = place.connect()
    asked = place.guard.begin(name(busy))
    for _ in range(10):
        place.later(15)
    assert is_open(busy)
    place.guard.end(asked)
    place.later(14.9)
    assert is_open(busy), "it has as long for the next one"
    place.later(0.2)
    assert not is_open(busy)


def test_of_one_address_the_oldest_strangers_are_closed(place: Place) -> None:
    known = place.connect()
    place.guard.begin(name(known))
    place.guard.authenticated(name(known))
    strangers = [place.connect() for _ in range(6)]
    assert [is_open(each) for each in (known, *strangers)] == [True, False, False, True, True, True, True]


def test_anonymous_connections_without_a_request_are_closed_first(place: Place) -> None:
    asking = place.connect()
    place.guard.begin(name(asking))
    strangers = [place.connect() for _ in range(4)]
    assert [is_open(each) for each in (asking, *strangers)] == [True, False, True, True, True]


def test_of_all_addresses_too(place: Place) -> None:
    strangers = [place.connect(f"127.0.0.{host}") for host in (1, 1, 1, 2, 2, 2, 3, 3)]
    assert [is_open(each) for each in strangers] == [False, False, True, True, True, True, True, True]


def test_who_was_known_on_another_connection_is_a_stranger_on_this(place: Place) -> None:
    place.guard.begin("127.0.0.1:1")
    place.guard.authenticated("127.0.0.1:1")
    strangers = [place.connect() for _ in range(5)]
    assert not is_open(strangers[0])


def test_a_connection_that_still_reads_its_answer_is_not_idle(place: Place) -> None:
    slow = place.connect()
    place.accepted[-1].setblocking(False)
    with pytest.raises(BlockingIOError):
        while True:
            place.accepted[-1].send(bytes(1 << 16))
    for _ in range(3):
        place.later(15.1)
        slow.setblocking(True)
        taken = 0
        while taken < 1 << 20:  # so that the kernel sees that it was taken
            taken += len(slow.recv(1 << 16))
        with pytest.raises(BlockingIOError):
            while True:
                place.accepted[-1].send(bytes(1 << 16))
    place.later(15.1)
    place.later(59.9)
    with pytest.raises(BlockingIOError):
        place.accepted[-1].send(b"x")
    place.later(0.2)
    with pytest.raises(BrokenPipeError):
        place.accepted[-1].send(b"x")


def test_requests_are_counted_apart_from_connections(place: Place) -> None:
    asked = [place.guard.begin("127.0.0.1:1") for _ in range(2)]
    assert not place.guard.is_full
    asked.append(place.guard.begin("127.0.0.1:2"))
    assert place.guard.is_full
    with place.guard.waiting():
        assert not place.guard.is_full, "a stranger who is waited for takes no place"
    for each in asked:
        place.guard.end(each)
    assert not place.guard.is_full and place.guard.requests == 0


def test_clients_that_have_left_are_forgotten(place: Place) -> None:
    for port in range(100):
        place.guard.end(place.guard.begin(f"127.0.0.1:{port}"))
    place.guard.look()
    assert not place.guard._clients


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "::ffff:127.0.0.1", "localhost"])
def test_what_stays_on_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "::ffff:192.0.2.1", "fe80::1%eth0", "example.org", ""])
def test_what_may_leave_it(host: str) -> None:
    assert not is_loopback(host)
