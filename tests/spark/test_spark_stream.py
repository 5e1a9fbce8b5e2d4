"""Streams of Spark into a pool: one commit for each batch, and a batch that is played again is recognized."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import lochan.spark
from lochan.cli.root import cli
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark import session
from lochan.errors import Invalid, NotFound
from tests.servers.lochan import LOCHAN
from tests.spark.local_spark import HERE, LEFT_SOCKETS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = LEFT_SOCKETS
_PATIENCE_S = 120.0


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    found = session.session_at(HERE, STANDARD)
    found.createDataFrame([(1,)], "a int")  # the active one: Spark looks up where streams go by it
    lochan.spark.register(found)
    yield found
    session.stop()


@pytest.fixture(autouse=True)
def newcomer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name != "LOCHAN_COMPANION" and name.startswith(("LOCHAN_", "AWS_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOCHAN_LAKE", str(tmp_path / "lake"))
    monkeypatch.setenv("LOCHAN_SPARK__MASTER", HERE.master)
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    fine("init")
    fine("create", "logs", "--key", "k")


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, words, prog_name="lochan", catch_exceptions=False)


def fine(*words: str) -> str:
    result = call(*words)
    assert result.exit_code == 0, (words, result.output)
    return result.stdout


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in fine("query", text).splitlines()]


def keys() -> list[int]:
    return [row["k"] for row in rows("from logs | sort k | cut k")]


def put(name: str, first: int, last: int) -> None:
    """Puts the file in one step, as a followed folder needs it."""
    text = "".join(f'{{"k": {number}, "text": "row {number}"}}\n' for number in range(first, last))
    Path("in", f".{name}").write_text(text)
    Path("in", f".{name}").rename(Path("in", name))


def batches() -> list[tuple[str, int]]:
    """The batch numbers of the commits, newest first."""
    found = [each["metadata"] for each in json.loads(fine("log", "logs", "-f", "json"))]
    return [(each["lochan-job"], int(each["lochan-batch"])) for each in found if "lochan-job" in each]


def ended(count: int) -> list[dict[str, Any]]:
    """The jobs, once so many have ended: the last report comes after the stream."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        found: list[dict[str, Any]] = json.loads(fine("jobs", "-f", "json"))
        if len(found) >= count and all(each["state"] != "running" for each in found):
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


def forget_last(checkpoint: Path) -> None:
    """As if Spark had been killed after the batch landed and before it recorded that."""
    done = max((checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    for path in (done, done.with_name(f".{done.name}.crc")):
        path.unlink(missing_ok=True)


def frames(spark: SparkSession) -> DataFrame:
    return (
        spark.readStream.schema("k long, text string").option("maxFilesPerTrigger", 1).json(str(Path("in").absolute()))
    )


def test_a_commit_for_each_batch_and_none_twice(spark: SparkSession, tmp_path: Path) -> None:
    told: list[tuple[int, int, bool]] = []
    checkpoint = tmp_path / "checkpoint"

    def go() -> None:
        query = lochan.spark.ingest(
            frames(spark),
            "logs@main",
            checkpoint=checkpoint,
            available_now=True,
            compact=False,
            metadata={"by": "ada"},
            tell=lambda number, landed: told.append((number, landed.rows, landed.again)),
        )
        assert query.awaitTermination(120)

    put("a.json", 0, 3)
    go()
    put("b.json", 3, 5)
    go()
    assert told == [(0, 3, False), (1, 2, False)]
    assert keys() == [0, 1, 2, 3, 4]
    [(query, second), (same, first)] = batches()
    assert query == same and (first, second) == (0, 1)
    forget_last(checkpoint)
    told.clear()
    go()
    assert told == [(1, 0, True)], "it was found, and not written again"
    Path("in", "empty.json").touch()
    go()
    put("c.json", 5, 7)
    go()
    assert told[1:] == [(2, 0, False), (3, 2, False)]
    assert [number for _, number in batches()] == [3, 1, 0], "what is empty makes no commit"
    assert keys() == [0, 1, 2, 3, 4, 5, 6]
    assert json.loads(fine("log", "logs", "-n", "1", "-f", "json"))[0]["metadata"]["by"] == "ada"
    assert [(each["kind"], each["about"], each["state"], each["rows"]) for each in ended(5)] == [
        ("ingest", "logs@main", "done", rows) for rows in (2, 0, 0, 2, 3)
    ]
    assert sum(each["executor_bytes"] for each in ended(5)) == sum(each["size"] for each in rows("from logs:objects"))
    assert all(each["driver_bytes"] > 0 for each in ended(5))


def test_the_data_source(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"

    def go() -> None:
        writer = frames(spark).writeStream.format("lochan").option("checkpointLocation", str(checkpoint))
        query = writer.option("lake", str(tmp_path / "lake")).trigger(availableNow=True).start("logs@main")
        assert query.awaitTermination(120)

    put("a.json", 0, 3)
    go()
    assert keys() == [0, 1, 2]
    [(query, first)] = batches()
    forget_last(checkpoint)
    put("b.json", 3, 5)
    go()
    assert keys() == [0, 1, 2, 3, 4]
    assert batches() == [(query, 1), (query, first)] and first == 0
    found = ended(1)
    assert {(each["kind"], each["about"], each["state"]) for each in found} == {("ingest", "logs@main", "done")}
    assert sum(each["rows"] for each in found) == 5, "two records, where an hour has ended meanwhile"


def test_what_is_refused_before_the_first_batch(spark: SparkSession, tmp_path: Path) -> None:
    stream, nowhere = frames(spark), tmp_path / "checkpoint"
    fine("repo", "create", "files")
    with pytest.raises(NotFound, match="'none'"):
        lochan.spark.ingest(stream, "none", checkpoint=nowhere)
    with pytest.raises(Invalid, match="is no stream"):
        lochan.spark.ingest(spark.range(3).toDF("k"), "logs", checkpoint=nowhere)
    with pytest.raises(Invalid, match="streams go into pools"):
        lochan.spark.ingest(stream, "files@main/in/", checkpoint=nowhere)
    assert not nowhere.exists()


def test_a_folder_of_files_of_any_format(spark: SparkSession) -> None:
    put("a b%20#.ndjson", 0, 3)
    Path("in", "c.csv").write_text("k,text\n3,three\n")
    Path("in", "d.json.gz").write_bytes(gzip.compress(b'[{"k":4},{"k":5}]'))
    Path("in", "deep").mkdir()
    pq.write_table(pa.table({"k": [6, 7]}), "in/deep/e.parquet")
    words = ("ingest", "stream", "logs", "--from", "folder", "in", "--once")
    output = fine(*words)
    assert output.splitlines()[-1] == "stopped: 8 rows into logs@main by 1 commit"
    assert keys() == list(range(8))
    assert rows("from logs | k == 3 | cut text") == [{"text": "three"}]
    assert fine(*words) == "stopped: 0 rows into logs@main by 0 commits\n"

    Path("in", "bad.ndjson").write_text('{"k": 8}\n{"k":\n')
    wrong = call(*words)
    assert wrong.exit_code == 6, wrong.output
    assert "bad.ndjson:2" in wrong.stderr and "Traceback" not in wrong.stderr
    assert keys() == list(range(8))
    done = [json.loads(line) for line in fine(*words, "--on-error", "skip", "-f", "json").splitlines()]
    assert [(each["rows"], each["errors"]) for each in done] == [(1, 1)]
    assert keys() == list(range(9))

    [lock] = Path(".local/state/lochan/streams").glob("*/logs@main/folder-*/lochan.lock")
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        refused = call(*words)
    assert refused.exit_code == 5 and "another stream uses the checkpoint" in refused.stderr


def test_lines_of_a_socket_until_it_is_stopped(spark: SparkSession) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = "{}:{}".format(*server.getsockname())
        serving = threading.Thread(target=serve, args=(server, b'{"k": 1}\n{"k": 2, "deep": {"a": 1}}\n'), daemon=True)
        serving.start()
        output = until_stopped(
            lambda: count("logs") == 2, "ingest", "stream", "logs", "--from", "socket", address, "--every", "200ms"
        )
    assert output.splitlines()[-1].startswith("stopped: 2 rows into logs@main")
    assert rows("from logs | k == 2") == [{"k": 2, "deep": {"a": 1}}]


def test_rows_at_a_rate(spark: SparkSession) -> None:
    fine("create", "rate", "--key", "value")
    words = ("ingest", "stream", "rate", "--from", "rate", "--rows-per-second", "50", "--every", "500ms")

    until_stopped(lambda: count("rate") >= 50, *words)
    [found] = rows("from rate | count(), least := min(value), most := max(value)")
    assert found["least"] == 0 and found["most"] == found["count"] - 1
    assert len(rows("from rate:objects")) <= 2, "they were merged when it stopped"


def serve(server: socket.socket, data: bytes) -> None:
    with suppress(OSError):
        client, _ = server.accept()
        with client:
            client.sendall(data)
            client.recv(1)  # until the other side has left


def count(pool: str) -> int:
    """Asked by another process: the one here is busy."""
    asked = [str(LOCHAN), "query", f"from {pool} | count()"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60)
    return int(json.loads(done.stdout)["count"])


def until_stopped(holds: Callable[[], bool], *words: str) -> str:
    """Ctrl-C comes when it holds."""
    ended = threading.Event()

    def interrupt() -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline and not ended.is_set():
            if holds():
                break
            time.sleep(0.5)
        if not ended.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    waiting = threading.Thread(target=interrupt)
    waiting.start()
    try:
        return fine(*words)
    finally:
        ended.set()
        waiting.join()


def test_small_objects_are_merged_where_it_is_said(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(9):
        put(f"{number}.json", number, number + 1)

    def go(compact: str) -> None:
        query = lochan.spark.ingest(
            frames(spark),
            "logs@main",
            checkpoint=tmp_path / compact,
            available_now=True,
            compact=compact,
        )
        assert query.awaitTermination(120)

    go("none")
    assert len(rows("from logs:objects")) == 9
    assert [each["kind"] for each in ended(1)] == ["ingest"]
    go("spark")
    jobs = ended(3)
    assert {each["kind"] for each in jobs} == {"ingest", "compact"}, "the merge was a job of Spark"
    assert all(each["state"] == "done" for each in jobs)
    assert len(rows("from logs:objects")) < 4
    assert keys() == sorted([*range(9)] * 2)
    before = len(ended(3))
    go("driver")
    jobs = ended(before + 1)  # the last merge comes after the stream
    assert [each["kind"] for each in jobs].count("ingest") == 3
    assert len(jobs) == before + 1, "the driver merges without a job"
    assert len(rows("from logs:objects")) < 4
    with pytest.raises(Invalid, match="cannot be merged there"):
        lochan.spark.ingest(frames(spark), "logs@main", checkpoint=tmp_path / "no", compact="elsewhere")
