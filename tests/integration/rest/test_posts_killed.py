"""A server that is killed while clients post rows: no row that was acknowledged is lost, and none is there twice,
however often it is sent."""

import asyncio
import http.client
import json
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.integration.api.client import Answer, Client
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.processes import descendants
from tests.until import until

_CLIENTS = 16
_FIRST = 200  # rows that are acknowledged before the server is killed


def test_rows_that_were_acknowledged_are_there_once(tmp_path: Path) -> None:
    answers: dict[int, Answer] = {}
    sent: set[int] = set()
    over = threading.Event()

    def posts(server: LochanServer, first: int) -> None:
        client = Client(server.api, server.access_key, server.secret_key)
        number = first
        while not over.is_set():
            sent.add(number)
            try:
                answers[number] = _post(client, number)
            except (OSError, http.client.HTTPException):  # the server is dead: nobody knows of this one
                return
            number += _CLIENTS

    with lochan_server(tmp_path / "lake") as server:
        server.lochan("create", "logs", "--key", "k")
        with ThreadPoolExecutor(_CLIENTS) as threads:
            running = [threads.submit(posts, server, first) for first in range(_CLIENTS)]
            try:
                asyncio.run(until(lambda: len(answers) >= _FIRST, "as many answers"))
                for process in [server.process.pid, *(each.pid for each in descendants(server.process.pid))]:
                    os.kill(process, signal.SIGKILL)
            finally:
                over.set()
            for each in running:
                each.result()
    assert {each.status for each in answers.values()} == {200}
    with lochan_server(tmp_path / "lake", init=False) as server:
        client = Client(server.api, server.access_key, server.secret_key)
        found = [row["k"] for row in client.query("from logs | sort k").rows]
        assert len(found) == len(set(found)) and set(answers) <= set(found) <= sent
        again = {number: _post(client, number) for number in sorted(sent)}
        assert {each.status for each in again.values()} == {200}
        for number, answer in answers.items():
            assert json.loads(again[number].body) == json.loads(answer.body)
        assert [row["k"] for row in client.query("from logs | sort k").rows] == sorted(sent)


def _post(client: Client, number: int) -> Answer:
    headers = {"content-type": "application/x-ndjson", "idempotency_key": f"key-{number}"}
    return client.ask("POST", "/api/v1/pools/logs/rows", b'{"k": %d}' % number, **headers)
