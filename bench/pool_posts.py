"""Small loads over HTTP: posts of one row, from 1, 16 and 64 clients at once. How many a second, how many commits they
make, and what each costs the server's processors; against one load of the same rows, and against single-row commits of
PostgreSQL that wait for the disk, by as many clients in the same run. Both lie on the disk of the temporary folder."""

from __future__ import annotations

import http.client
import json
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import psycopg

from bench.processor import Processor, family_seconds
from bench.table import percentile, show
from tests.integration.api.client import Client
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.postgres import PostgresServer, postgres

_POSTS = int(os.environ.get("LOCHAN_BENCH_POSTS", "1920"))
_CLIENTS = (1, 16, 64)
_FEW = 60  # of one client, each of which waits for its own commit
_BUDGET = 1.5  # posts of 64 clients for each commit of PostgreSQL


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
    title = f"posts of one row into a pool, each answered when it is durable; budget {_BUDGET} x PostgreSQL's commits"
    show(title, head, made)


def _posted(server: LochanServer, clients: int) -> list[float]:
    pool = f"posts-{clients}"
    server.lochan("create", pool, "--key", "k")
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
    connection = http.client.HTTPConnection(server.api, timeout=60)
    head = {**client.authorization, "content-type": "application/x-ndjson"}
    times = []
    for number in numbers:
        begun = perf_counter()
        row = json.dumps({"k": number, "host": f"h{number % 7}", "text": "x" * 100})
        connection.request("POST", f"/api/v1/pools/{pool}/rows", row, {**head, "idempotency-key": f"{pool}-{number}"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()
        times.append((perf_counter() - begun) * 1_000)
    connection.close()
    return times


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
