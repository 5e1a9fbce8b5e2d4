"""Answers in progress share one memory, and continue as their clients read them."""

import asyncio
import socket

import pytest

from lochan.server.gateway.flow import ALL_BYTES, FIRST_BYTES, PIECE_BYTES, WINDOW_BYTES, Flow, Flows
from lochan.server.gateway.wire.errors import S3Error
from tests.run import run


def begun(flows: Flows, count: int) -> list[Flow]:
    return [flows.begin("nobody:1", 1, 1.0) for _ in range(count)]


@pytest.mark.parametrize("count", [1, 2, 10, 50, 100])
def test_all_of_them_together_take_what_one_may(count: int) -> None:
    flows = Flows()
    begun(flows, count)
    taken = count * (flows.window_bytes() + 2 * flows.piece_bytes())  # one piece is given away, one is read ahead
    assert taken <= ALL_BYTES
    assert taken >= ALL_BYTES // 5, "and not much less"


def test_a_thousand_have_the_least_and_one_has_the_most() -> None:
    flows = Flows()
    many = begun(flows, 1_000)
    assert (flows.window_bytes(), flows.piece_bytes()) == (WINDOW_BYTES.start, PIECE_BYTES.start)
    assert flows.longest_nap_s() == 1.0
    for each in many[1:]:
        each.close()
    assert (flows.window_bytes(), flows.piece_bytes()) == (WINDOW_BYTES.stop, PIECE_BYTES.stop)
    assert flows.longest_nap_s() < 0.1


def test_a_client_is_given_no_more_than_a_window_ahead_of_what_it_takes() -> None:
    async def work() -> None:
        server = socket.create_server(("127.0.0.1", 0))
        with server, socket.create_connection(server.getsockname()) as client:
            ours, address = server.accept()
            with ours:
                await slow_client(ours, client, f"127.0.0.1:{address[1]}")

    run(work())


async def slow_client(ours: socket.socket, client: socket.socket, name: str) -> None:
    flows = Flows()
    flow = flows.begin(name, 1 << 30, 0.2)
    await flow.room(FIRST_BYTES)  # of the first bytes nobody knows yet how they are taken
    assert flow.piece_bytes() == FIRST_BYTES
    waiting = asyncio.create_task(flow.room(FIRST_BYTES + 2_000))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    ours.sendall(b"x" * 1_000)  # which leaves as much room again
    await asyncio.wait_for(waiting, 5)
    assert flow.piece_bytes() == FIRST_BYTES + 1_000
    with pytest.raises(S3Error, match="RequestTimeout"):  # and then nothing more is taken
        await flow.room(FIRST_BYTES + 2_001)
    flow.close()
    assert client.recv(1) == b"x"


def test_a_client_that_goes_away_in_a_pause_is_noticed_long_before_its_time_is_up() -> None:
    async def work() -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            client = socket.create_connection(server.getsockname())
            ours, address = server.accept()
            with ours:
                flow = Flows().begin(f"127.0.0.1:{address[1]}", 1 << 30, 3_600.0)
                ours.sendall(b"x" * 1_000)
                waiting = asyncio.create_task(flow.room(FIRST_BYTES << 2))
                await asyncio.sleep(0.05)
                assert not waiting.done()
                client.close()  # with bytes that it has not read
                with pytest.raises(S3Error, match="RequestTimeout"):
                    await asyncio.wait_for(waiting, 60)
                flow.close()

    run(work())


def test_a_connection_is_found_again_and_not_taken_for_another() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        flows = Flows()
        for _ in range(3):  # the numbers of files are used again
            client = socket.create_connection(server.getsockname())
            ours, address = server.accept()
            for _ in range(2):
                found = flows._connection(f"127.0.0.1:{address[1]}")
                assert found is not None and found.getpeername() == client.getsockname()
                found.close()
            assert flows._connection("127.0.0.1:1") is None
            ours.close()
            assert flows._connection(f"127.0.0.1:{address[1]}") is None
            client.close()
