"""`lochan ingest stream --from kafka` against a real broker: each message becomes one row, whatever happens."""

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli import fine, lochan, wrong
from tests.servers.kafka import Broker, kafka
from tests.servers.lochan import LOCHAN
from tests.servers.minio import MinioServer

_PATIENCE_S = 60.0
_KILLS = 20


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with kafka() as found:
        yield found


@pytest.fixture(autouse=True)
def newcomer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name != "LOCHAN_COMPANION" and name.startswith(("LOCHAN_", "AWS_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    fine("init")
    fine("create", "logs", "--key", "k")


def stream(broker: Broker, topic: str, *more: str) -> tuple[str, ...]:
    return ("ingest", "stream", "logs", "--from", "kafka", "--brokers", broker.address, "--topic", topic, *more)


def records(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def rows(text: str = "from logs | sort k") -> list[dict[str, Any]]:
    return records(fine("query", text))


def numbered(first: int, last: int) -> list[bytes | None]:
    return [b'{"k":%d,"text":"row %d"}' % (number, number) for number in range(first, last)]


def test_each_message_is_one_row_and_comes_once(broker: Broker) -> None:
    broker.create("orders", parts=2)
    broker.send("orders", [*numbered(0, 50), None, b"", b' {\n  "k": 50,\n  "deep": {"a": [1, 2]}\n}'])
    [done] = records(fine(*stream(broker, "orders", "--once", "-f", "json", "-m", "orders", "--metadata", "by=ada")))
    assert (done["batch"], done["rows"], done["again"]) == (0, 51, False)
    assert [row["k"] for row in rows()] == list(range(51))
    assert rows("from logs | k == 50") == [{"k": 50, "deep": {"a": [1, 2]}}]
    [about] = json.loads(fine("log", "logs", "-n", "1", "-f", "json"))
    assert about["message"] == "orders" and about["metadata"]["by"] == "ada"
    assert sum(json.loads(about["metadata"]["lochan-offsets"])["orders"].values()) == 53

    assert fine(*stream(broker, "orders", "--once")) == "stopped: 0 rows into logs@main by 0 commits\n"
    broker.send("orders", numbered(51, 60))
    assert [each["batch"] for each in records(fine(*stream(broker, "orders", "--once", "-f", "json")))] == [1]
    assert [row["k"] for row in rows()] == list(range(60))

    fine("branch", "create", "logs@dev", "--from", "main~1")  # what a branch has is what it goes on from
    words = ("ingest", "stream", "logs@dev", *stream(broker, "orders", "--once")[3:])
    fine(*words)
    assert rows("from logs@dev | count()") == rows("from logs | count()") == [{"count": 60}]


def test_messages_that_are_not_rows(broker: Broker) -> None:
    broker.create("mixed")
    broker.send("mixed", [b'{"k":1}', b'{"k":', b'{"k":2}'])
    message = wrong(6, *stream(broker, "mixed", "--once"))
    assert "mixed/0:1" in message
    assert rows("from logs | count()") == [{"count": 0}]
    broker.send("mixed", [b"\xff\xfe"])
    [done] = records(fine(*stream(broker, "mixed", "--once", "--on-error", "skip", "-f", "json")))
    assert (done["rows"], done["errors"]) == (2, 2)
    assert sorted(done["first_errors"])[1].startswith("mixed/0:3:1: not valid UTF-8")
    broker.send("mixed", [b"no row"])
    fine(*stream(broker, "mixed", "--once", "--on-error", "keep"))
    assert [row["_line"] for row in rows("from logs | has(_line)")] == ["no row"]


def test_what_is_not_there_any_more(broker: Broker) -> None:
    """A topic that was created again counts from 0: the stream neither reads it all again nor waits for what never
    comes."""
    broker.create("short")
    broker.send("short", numbered(0, 9))
    assert "0 rows" in fine(*stream(broker, "short", "--once", "--latest"))
    fine(*stream(broker, "short", "--once"))
    broker.delete("short")
    until(lambda: lochan(*stream(broker, "short", "--once")).exit_code == 3)
    broker.create("short")
    broker.send("short", numbered(100, 102))
    message = wrong(10, *stream(broker, "short", "--once"))
    assert "message 9 comes next" in message and "--go-on" in message
    fine(*stream(broker, "short", "--once", "--go-on"))
    assert rows("from logs | count()") == [{"count": 11}]


def test_into_a_lake_in_a_bucket(broker: Broker, minio_server: MinioServer) -> None:
    broker.create("afar")
    broker.send("afar", numbered(0, 20))
    lake = f"s3://{minio_server.bucket('ingest')}/lake"
    Path("lochan.yaml").write_text(f"""
lake: {lake}
blockstore:
  s3:
    region: us-east-1
    endpoint: {minio_server.endpoint}
    credentials: {{access_key_id: {minio_server.access_key}, access_secret_key: {minio_server.secret_key}}}
""")
    afar = ("--config", "lochan.yaml")
    fine(*afar, "init")
    fine(*afar, "create", "logs", "--key", "k")
    fine(*afar, *stream(broker, "afar", "--once"))
    broker.send("afar", numbered(20, 30))
    fine(*afar, *stream(broker, "afar", "--once"))
    assert records(fine(*afar, "query", "from logs | count(), most := max(k)")) == [{"count": 30, "most": 29}]


def test_mistakes(broker: Broker, tmp_path: Path) -> None:
    fine("repo", "create", "files")
    base = ("ingest", "stream", "logs", "--from")
    kafka = (*base, "kafka", "--brokers", broker.address, "--topic", "nowhere")
    assert "no topic 'nowhere'" in wrong(3, *kafka)
    assert "needs --brokers and --topic" in wrong(6, *base, "kafka", "--brokers", broker.address)
    assert "KEY=VALUE" in wrong(6, *kafka, "--kafka", "ssl")
    assert "does not take these settings" in wrong(5, *kafka, "--kafka", "colour=red")
    assert "is for Spark" in wrong(6, *kafka, "--checkpoint", "here")
    assert "takes no 'there'" in wrong(6, *kafka, "there")
    assert "not a length of time" in wrong(6, *kafka, "--every", "soon")
    assert "Kafka at 127.0.0.1:9" in wrong(9, *base, "kafka", "--brokers", "127.0.0.1:9", "--topic", "orders")
    assert "holds files" in wrong(5, "ingest", "stream", "files", *kafka[3:])
    assert "'none'" in wrong(3, "ingest", "stream", "logs@none", *kafka[3:])
    assert "needs a folder" in wrong(6, *base, "folder")
    assert "no folder nowhere" in wrong(3, *base, "folder", "nowhere")
    assert "is for --from kafka" in wrong(6, *base, "folder", str(tmp_path), "--topic", "orders")
    assert "no HOST:PORT" in wrong(6, *base, "socket", "here")
    assert "there is no end" in wrong(6, *base, "socket", "here:1", "--once")
    assert "needs --rows-per-second" in wrong(6, *base, "rate")


def test_stopped_it_lands_what_it_has_read_and_leaves_few_objects(broker: Broker) -> None:
    broker.create("many")
    with Ingest(broker, "many", "--every", "100ms") as ingest:
        for number in range(20):
            broker.send("many", numbered(number * 10, number * 10 + 10))
            until(lambda seen=(number + 1) * 10: ingest.rows() >= seen)
        broker.send("many", numbered(200, 210))
        until(lambda: ingest.rows() >= 210)
        ingest.process.send_signal(signal.SIGTERM)
        assert ingest.process.wait(_PATIENCE_S) == 0, ingest.log.read_text()
    assert [row["k"] for row in rows()] == list(range(210))
    assert len(rows("from logs:objects")) <= 2
    compactions = [each for each in json.loads(fine("log", "logs", "-f", "json")) if "Compact" in each["message"]]
    assert len(compactions) >= 2, "while it went on, and at the end"
    [job] = json.loads(fine("jobs", "-f", "json"))
    assert (job["kind"], job["about"], job["state"], job["rows"]) == ("ingest", "logs@main", "done", 210)


def test_two_that_follow_the_same_topic(broker: Broker) -> None:
    """Only one of them lands each batch; the other reads on behind it."""
    broker.create("shared", parts=2)
    with (
        Ingest(broker, "shared", "--every", "50ms", "--no-compact") as one,
        Ingest(broker, "shared", "--every", "50ms", "--no-compact") as other,
    ):
        for number in range(15):
            broker.send("shared", numbered(number * 20, number * 20 + 20))
            time.sleep(0.1)
        until(lambda: one.rows() + other.rows() >= 300)
        assert one.process.poll() is None and other.process.poll() is None
    assert [row["k"] for row in rows()] == list(range(300))


def test_killed_again_and_again(broker: Broker) -> None:
    """Whatever moment it is killed at: in the end every row is there, and once."""
    broker.create("killed", parts=3)
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    producing = Producing(broker, "killed")
    with producing:
        for round in range(_KILLS):
            with Ingest(broker, "killed", "--every", "30ms") as ingest:
                if round % 2:
                    with suppress(AssertionError):
                        until(lambda found=ingest: found.rows() > 0, 10)
                time.sleep(chance.uniform(0, 0.6))
                ingest.kill()
    fine(*stream(broker, "killed", "--once"))
    assert [row["k"] for row in rows("from logs | sort k | cut k")] == list(range(producing.count)), f"seed {seed}"
    batches = [each["metadata"].get("lochan-batch") for each in json.loads(fine("log", "logs", "-f", "json"))]
    landed = [int(batch) for batch in batches if batch is not None]
    assert landed == list(range(len(landed)))[::-1] and len(landed) > 1


class Ingest:
    """One in a process of its own, and in a group of its own."""

    def __init__(self, broker: Broker, topic: str, *more: str) -> None:
        self.log = Path(f"ingest-{time.monotonic_ns()}.log")
        with self.log.open("wb") as output:
            command = [str(LOCHAN), *stream(broker, topic, "-f", "json", *more)]
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)

    def __enter__(self) -> "Ingest":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def rows(self) -> int:
        """The number of rows that it reported as landed."""
        whole = self.log.read_text().rpartition("\n")[0]
        assert "lochan:" not in whole, whole
        return sum(each["rows"] for each in records(whole))


class Producing:
    """Messages on and on, as long as it is entered."""

    def __init__(self, broker: Broker, topic: str) -> None:
        self.count = 0
        self._send = (broker, topic)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Producing":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        broker, topic = self._send
        while not self._stop.wait(0.05):
            broker.send(topic, numbered(self.count, self.count + 10))
            self.count += 10


def until(holds: Any, patience_s: float = _PATIENCE_S) -> None:
    deadline = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
