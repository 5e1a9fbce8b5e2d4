"""Small loads over HTTP: posts of one row, from 1, 16 and 64 clients at once. How many a second, how many commits they
make, and what each costs the server's processors; against one load of the same rows, and against single-row commits of
PostgreSQL that wait for the disk, by as many clients in the same run. Both lie on the disk of the temporary folder.

The clients share the processors with both servers, so they do as little as they can: those of PostgreSQL call its own
library, and those of the pool write to a socket what they have to say.

Then what the posts have left: how many objects, and the processor time of an aggregate over them, against the same pool
compacted."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time

import psycopg

from bench.processor import Processor, family_seconds
from bench.table import percentile, show
from lochan.api.lake import Lake
from lochan.api.session import server_session
from lochan.lake import Lake as OpenLake
from lochan.store.local import LocalStore
from tests.integration.api.client import Client
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.postgres import PostgresServer, postgres

_POSTS = int(os.environ.get("LOCHAN_BENCH_POSTS", "1920"))
_CLIENTS = (1, 16, 64)
_FEW = 60  # of one client, each of which waits for its own commit
_BUDGET = 1.5  # posts of 64 clients for each commit of PostgreSQL
_LEFT = 1.1  # an aggregate over what they leave, for one over the compacted pool
_WARM_UP = 200  # posts of each number of clients, into another pool: what is imported at the first ones
_PAUSE_S = 2.5  # after which the server has merged what it merges
_QUERIES = 15


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder,
        lochan_server(Path(folder, "lake")) as server,
        _database() as database,
    ):
        rows = []
        for clients in _CLIENTS:  # in turns, so that both have the machine as it is then
            rows.append([*_posted(server, clients), *_inserted(database, clients)])
        one = _loaded_at_once(server)
        head = ["clients", "posts", "commits", "posts a second", "p50 ms", "p99 ms", "server's ms a post", "× one load"]
        head += ["PostgreSQL a second", "its p50 ms", "its ms a commit", "posts / commits"]
        made = [[*row[:7], row[6] / one, *row[7:], row[3] / row[7]] for row in rows]
        title = (
            f"posts of one row into a pool, each answered when it is durable; budget {_BUDGET} x PostgreSQL's commits"
        )
        show(title, head, made)
        time.sleep(_PAUSE_S)
        left = [_left(server, clients) for clients in _CLIENTS]
    title = f"what they leave: processor time of an aggregate, in the same process; budget {_LEFT} x the compacted pool"
    show(title, ["clients", "objects", "ms", "ms compacted", "× compacted"], left)


def _left(server: LochanServer, clients: int) -> list[float]:
    """The pool is compacted by this."""
    pool = f"posts-{clients}"

    async def aggregate() -> tuple[int, float]:
        lake = Lake(server_session(await OpenLake.open(LocalStore(server.lake))))
        try:
            took = []
            for _ in range(_QUERIES):
                begun = process_time()
                with await lake.query(
                    f"from {pool} | count(), least:=min(k), longest:=max(len(text)) by host"
                ) as found:
                    assert len(list(found.rows())) == 7
                took.append((process_time() - begun) * 1_000)
            return (await lake.pool(pool).summary()).objects, statistics.median(took)
        finally:
            await lake.close()

    objects, before = asyncio.run(aggregate())
    if objects > 1:
        server.lochan("compact", pool)
    _, after = asyncio.run(aggregate())
    return [clients, objects, before, after, before / after]


def _posted(server: LochanServer, clients: int) -> list[float]:
    pool = f"posts-{clients}"
    for each in (f"warm-{clients}", pool):
        server.lochan("create", each, "--key", "k")
    with ThreadPoolExecutor(clients) as threads:
        shares = [range(number, _WARM_UP, clients) for number in range(clients)]
        list(threads.map(lambda share: _post(server, f"warm-{clients}", share), shares))
    posts = _FEW if clients == 1 else _POSTS
    processor = Processor(server.process.pid)
    before, begun = processor.seconds(), perf_counter()
    with ThreadPoolExecutor(clients) as threads:
        shares = [range(number, posts, clients) for number in range(clients)]
        times = [each for share in threads.map(lambda share: _post(server, pool, share), shares) for each in share]
    took, used = perf_counter() - begun, processor.seconds() - before
    commits = len(json.loads(server.lochan("log", pool, "-n", "5000", "-f", "json"))) - 1
    assert len(times) == posts
    return [clients, posts, commits, posts / took, percentile(times, 50), percentile(times, 99), used * 1_000 / posts]


def _post(server: LochanServer, pool: str, numbers: range) -> list[float]:
    client = Client(server.api, server.access_key, server.secret_key)
    host, _, port = server.api.rpartition(":")
    head = f"POST /api/v1/pools/{pool}/rows HTTP/1.1\r\nhost: {server.api}\r\ncontent-type: application/x-ndjson\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in client.authorization.items())
    times = []
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in numbers:
            begun = perf_counter()
            row = json.dumps({"k": number, "host": f"h{number % 7}", "text": "x" * 100})
            key = f"idempotency-key: {pool}-{number}\r\ncontent-length: {len(row)}\r\n\r\n"
            connection.sendall(f"{head}{key}{row}".encode())
            _check(connection)
            times.append((perf_counter() - begun) * 1_000)
    return times


def _check(connection: socket.socket) -> None:
    """Reads the answer, which says how long it is."""
    answer = b""
    while True:
        answer += connection.recv(1 << 16)
        lines, end, body = answer.partition(b"\r\n\r\n")
        if end:
            break
        assert len(answer) < 1 << 16, answer
    assert lines.startswith(b"HTTP/1.1 200 "), answer
    length = next(int(line[15:]) for line in lines.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    while len(body) < length:
        body += connection.recv(1 << 16)


@contextmanager
def _database() -> Iterator[PostgresServer]:
    with postgres(on_disk=True) as database:
        database.execute(f"ALTER SYSTEM SET max_connections = {max(_CLIENTS) + 20}")
        database.stop()
        database.start()
        yield database


def _inserted(database: PostgresServer, clients: int) -> list[float]:
    """Commits of one row each: how many a second, the median of their times, and what each costs its processors."""
    table = f"posts_{clients}"
    database.execute(f"CREATE TABLE {table} (k bigint, host text, text text)")
    count = _FEW if clients == 1 else _POSTS
    before, begun = family_seconds(database.pid), perf_counter()
    with ThreadPoolExecutor(clients) as threads:
        shares = [range(number, count, clients) for number in range(clients)]
        times = [each for share in threads.map(lambda share: _insert(database, table, share), shares) for each in share]
    took, used = perf_counter() - begun, family_seconds(database.pid) - before
    assert database.execute(f"SELECT count(*) FROM {table}") == [(count,)]
    return [count / took, percentile(times, 50), used * 1_000 / count]


def _insert(database: PostgresServer, table: str, numbers: range) -> list[float]:
    times = []
    with psycopg.connect(database.url, autocommit=True, options="-c synchronous_commit=on") as connection:
        statement = f"INSERT INTO {table} VALUES (%s, %s, %s)".encode()
        for number in numbers:
            begun = perf_counter()
            connection.execute(statement, (number, f"h{number % 7}", "x" * 100))
            times.append((perf_counter() - begun) * 1_000)
    return times


def _loaded_at_once(server: LochanServer) -> float:
    """Milliseconds of the server's processors for each row, of one load with all of them."""
    server.lochan("create", "at-once", "--key", "k")
    client = Client(server.api, server.access_key, server.secret_key)
    rows = "".join(
        f"{json.dumps({'k': number, 'host': f'h{number % 7}', 'text': 'x' * 100})}\n" for number in range(_POSTS)
    )
    processor = Processor(server.process.pid)
    before = processor.seconds()
    answer = client.ask("POST", "/api/v1/pools/at-once/rows", rows.encode())
    assert answer.status == 200, answer.body
    return (processor.seconds() - before) * 1_000 / _POSTS


if __name__ == "__main__":
    main()
