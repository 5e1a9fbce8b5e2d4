"""A server's own Spark: one session for all its queries, warm from the start, replaced if it dies, and gone with the
server.
"""

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from tests.integration.api.client import QUERY, Client
from tests.integration.cli import fine
from tests.servers.lochan import LochanServer, lochan_server
from tests.spark.local_spark import HERE

COUNT = "from logs | count() by host | sort host"
COUNTED = [{"host": "h0", "count": 34}, {"host": "h1", "count": 33}, {"host": "h2", "count": 33}]
# A hundred million rows: minutes, but no task goes on for long behind its end.
LONG = "select count(*) as n from logs a, logs b, logs c, logs d, logs f where a.k + b.k + c.k + d.k = f.k"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    rows = "".join(f'{{"k":{number},"host":"h{number % 3}"}}\n' for number in range(100))
    (folder / "rows.ndjson").write_text(rows)
    options = "".join(f"{name} {value}\n" for name, value in HERE.options.items())
    (folder / "spark-defaults.conf").write_text(options)
    fine("init", str(folder / "lake"))
    fine("--lake", str(folder / "lake"), "create", "logs", "--key", "k")
    fine("--lake", str(folder / "lake"), "load", "logs", str(folder / "rows.ndjson"))
    return folder / "lake"


def warm(lake: Path) -> Mapping[str, str]:
    return {
        "LOCHAN_SPARK__WARM": "true",
        "LOCHAN_SPARK__MASTER": "local[2]",
        "LOCHAN_SPARK__MEMORY": "700MB",
        "SPARK_CONF_DIR": str(lake.parent),
    }


def test_one_session_for_all_queries(lake: Path) -> None:
    with lochan_server(lake, init=False, env=warm(lake), workers=2) as server:
        client = Client(server.api, server.access_key, server.secret_key)
        assert client.ask("GET", "/_health/ready").status == 200  # which waits for no JVM
        assert client.query(COUNT, engine="duckdb").rows == COUNTED
        until_warm(client)
        [jvm] = jvms(server)  # however many processes the gateways have
        for _ in range(2):
            answer = client.query(COUNT, engine="spark")
            assert (answer.rows, answer.headers["x-query-engine"]) == (COUNTED, "spark")
        assert list(jvms(server)) == [jvm]
        cancelled(client)
        assert client.query(COUNT, engine="spark").rows == COUNTED
        assert list(jvms(server)) == [jvm]
        os.kill(jvm, signal.SIGKILL)
        assert client.query(COUNT, engine="spark").rows == COUNTED
        [another] = jvms(server)
        assert another != jvm
        metrics = client.ask("GET", "/_metrics").body.decode()
        assert "lochan_spark_warm 1.0" in metrics
        assert 'lochan_queries_total{engine="spark",state="done"} 4.0' in metrics
        log = server.log.read_text()
    assert not runs(another)
    assert "Traceback" not in log, log


def test_one_that_is_stopped_while_spark_starts(lake: Path) -> None:
    with lochan_server(lake, init=False, env=warm(lake)) as server:
        found: list[int] = []
        deadline = time.monotonic() + 20
        while not found and time.monotonic() < deadline:
            found = list(jvms(server))
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0
        assert time.monotonic() - begun < 15
        log = server.log.read_text()
    assert found and not any(map(runs, found))
    assert "Traceback" not in log and "not warm" not in log, log


def cancelled(client: Client) -> None:
    """One that runs on Spark, and would for minutes."""
    with closing(client.sent(LONG, engine="spark")) as connection:
        deadline = time.monotonic() + 60
        while not [each for each in client.running() if each.get("tasks")]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        [status] = client.running()
        assert (status["state"], status["engine"], status["rows"]) == ("running", "spark", 0)
        assert client.ask("DELETE", f"{QUERY}/{status['id']}").status == 204
        assert connection.getresponse().status == 409
    assert client.until(status["id"], "cancelled")["query"] == LONG


def until_warm(client: Client) -> None:
    deadline = time.monotonic() + 60
    while b"lochan_spark_warm 1.0" not in client.ask("GET", "/_metrics").body:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def jvms(server: LochanServer) -> Iterator[int]:
    """Among the server's processes."""
    parents = dict(processes())
    for pid in parents:
        above = pid
        while above in parents and above != server.process.pid:
            above = parents[above]
        if above == server.process.pid and b"org.apache.spark" in (command(pid)):
            yield pid


def processes() -> Iterator[tuple[int, int]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                yield int(folder.name), int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def runs(pid: int) -> bool:
    return b"org.apache.spark" in command(pid)
