"""A store that is far away: a relay in front of another address that hands on every request some milliseconds later.

    python -m bench.delay_relay 127.0.0.1:9000 20      prints its own port, and runs until it is ended

Answers are not delayed. Whatever a client sends on one connection keeps its order, and connections do not wait for each
other.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_PIECE_BYTES = 256 << 10


@contextmanager
def delayed(address: str, delay_ms: float) -> Iterator[str]:
    """The relay's own address, host:port."""
    words = ["-m", "bench.delay_relay", address, str(delay_ms)]
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait()


async def relay(address: str, delay_s: float) -> None:
    host, _, port = address.rpartition(":")

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, requests = await asyncio.open_connection(host, int(port))
        with suppress(ConnectionError, asyncio.CancelledError):
            await asyncio.gather(_hand_on(reader, requests, delay_s), _hand_on(answers, writer, 0.0))
        for end in (writer, requests):
            end.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=_PIECE_BYTES)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _hand_on(source: asyncio.StreamReader, target: asyncio.StreamWriter, delay_s: float) -> None:
    """Each piece `delay_s` after it came, those that follow close behind it without another delay."""
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def send() -> None:
        while True:
            due, piece = await pieces.get()
            if (left := due - loop.time()) > 0:
                await asyncio.sleep(left)
            if not piece:
                target.close()
                return
            target.write(piece)
            await target.drain()

    async def receive() -> None:
        while piece := await source.read(_PIECE_BYTES):
            pieces.put_nowait((loop.time() + delay_s, piece))
        pieces.put_nowait((loop.time() + delay_s, b""))

    await asyncio.gather(receive(), send())


if __name__ == "__main__":
    asyncio.run(relay(sys.argv[1], float(sys.argv[2]) / 1_000))
