"""A server that runs queries stops in order, soon, and leaves nothing behind."""

import http.client
import json
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from tests.integration.api.client import Client
from tests.integration.api.conftest import FEW, fill
from tests.integration.api.test_query import ENDLESS, FIRST, LONG, running
from tests.servers.lochan import LochanServer, lochan_server


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[LochanServer]:
    (tmp_path / "files").mkdir()
    (tmp_path / "temporary").mkdir()
    env = {**FEW, "LOCHAN_GATEWAYS__S3__IDLE_S": "1", "TMPDIR": str(tmp_path / "temporary")}
    with lochan_server(tmp_path / "lake", env=env) as server:
        fill(server, tmp_path / "files")
        yield server


def test_what_runs_at_the_end(impatient: LochanServer, tmp_path: Path) -> None:
    client = Client(impatient.api, impatient.access_key, impatient.secret_key)
    assert len(client.query(FIRST).rows) == 2
    stands_still(client)
    with client.begun(ENDLESS) as taken, closing(client.sent(LONG)) as long:
        running(client, LONG)  # one that has not begun would get the error that the server stops
        begun = time.monotonic()
        impatient.process.send_signal(signal.SIGTERM)
        with pytest.raises(http.client.IncompleteRead):
            while taken.read(1 << 20):  # to its end: a client that is as slow as it likes, but never stands still
                time.sleep(0.05)
            taken.read()
        answer = long.getresponse()
        assert (answer.status, json.loads(answer.read())["message"].partition(" (")[0]) == (
            409,
            "the query was cancelled",
        )
        assert impatient.process.wait(20) == 0
        assert time.monotonic() - begun < 20
    log = impatient.log.read_text()
    assert "Traceback" not in log and "Killing" not in log, log
    assert not [each.name for each in (tmp_path / "temporary").glob("lochan-*") if each.is_dir()]
    found = duckdb.sql(f"""
        SELECT operation, repository, ref, path, status FROM '{impatient.lake}/_lake/usage/*/*.parquet'
        WHERE operation = 'Query' ORDER BY time
    """)
    assert found is not None
    noted = found.fetchall()
    assert noted[0] == ("Query", "logs", "main", "", 200)
    assert len(noted) == 1 + 3 * 3 and {row[4] for row in noted[1:]} == {409}


def stands_still(client: Client) -> None:
    with client.begun(ENDLESS) as answer:
        client.until(answer.headers["x-query-id"], "cancelled")
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            answer.read()
