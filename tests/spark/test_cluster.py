"""Queries on a standalone cluster: on a lake in a folder that its machines share, and on one in a bucket through S3A.

The driver is a process of its own each time, as a user starts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from lochan.lake import Lake
from lochan.store.local import LocalStore
from lochan.store.open import open_store
from lochan.store.protocol import Store
from tests.run import run
from tests.servers.minio import MinioServer, minio
from tests.spark import s3a
from tests.spark.cluster import Cluster, cluster
from tests.unit.engines.lake import ANN, BY_K

LOCHAN = [sys.executable, "-c", "from lochan.cli.main import main; main()"]
ROWS = [{"k": number, "host": f"web-{number % 3}", "ms": number / 4} for number in range(1_000)]
ROWS[500]["ms"] = None


@pytest.fixture(scope="module")
def there() -> Iterator[Cluster]:
    with cluster() as running:
        yield running


@pytest.fixture(scope="module")
def store() -> Iterator[MinioServer]:
    with minio() as server:
        yield server


def lochan(env: Mapping[str, str], *words: str, given: str = "") -> str:
    ran = subprocess.run(
        [*LOCHAN, *words], input=given, capture_output=True, text=True, env={**os.environ, **env}, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    return ran.stdout


async def fill(store: Store) -> None:
    """Three objects."""
    lake = await Lake.create(store)
    await lake.create_pool("logs", BY_K, actor=ANN)
    for start in range(3):
        await lake.load("logs", ROWS[start::3], actor=ANN)
    await lake.create_pool("holes", BY_K, actor=ANN)
    await lake.load("holes", ROWS, actor=ANN)
    with await lake.query("from holes:objects") as result:
        await store.delete(next(result.rows())["address"])
    await lake.close()


def parsed(lines: str) -> list[Any]:
    return [json.loads(line) for line in lines.splitlines()]


def check_job(env: Mapping[str, str], there: Cluster, rows: int) -> None:
    (job, *_) = json.loads(lochan(env, "jobs", "-f", "json"))
    assert (job["kind"], job["about"], job["state"], job["rows"]) == ("query", "logs", "done", rows)
    assert job["where"] == there.master
    assert job["stages_done"] == job["stages_total"] > 0
    shown = json.loads(lochan(env, "jobs", "show", job["id"], "-f", "json"))
    assert {stage["name"] for stage in shown["stages"]} == {"query of logs"}
    assert shown["log"][0]["text"].startswith("reads 3 of 3 objects")


def test_a_lake_in_a_folder(there: Cluster, tmp_path: Path) -> None:
    env = there.configured() | {"LOCHAN_LAKE": str(tmp_path / "lake")}
    run(fill(LocalStore(str(tmp_path / "lake"), create=True)))
    text = "from logs | count() by host | sort host"
    found = lochan(env, "query", text, "--engine", "spark", "--master", there.master)
    assert parsed(found) == [{"host": f"web-{number}", "count": 334 - (number > 0)} for number in range(3)]
    check_job(env, there, 3)
    ran = there.state()["completedapps"]
    assert [app["name"] for app in ran] == ["lochan"]


def test_a_lake_in_a_bucket(there: Cluster, store: MinioServer, tmp_path: Path) -> None:
    """Executors read it by themselves: nothing is copied to the machine that asks."""
    url = f"s3://{store.bucket('on-a-cluster')}/a lake"
    run(fill(open_store(url, store.options)))
    jars = f"{s3a.jars()}/*"
    env = there.configured({"spark.driver.extraClassPath": jars, "spark.executor.extraClassPath": jars}) | {
        "LOCHAN_LAKE": url,
        "LOCHAN_BLOCKSTORE__S3__REGION": "us-east-1",
        "LOCHAN_BLOCKSTORE__S3__ENDPOINT": store.endpoint,
        "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__ACCESS_KEY_ID": store.access_key,
        "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__ACCESS_SECRET_KEY": store.secret_key,
        "LOCHAN_CACHE__PATH": str(tmp_path / "cache"),
        "TMPDIR": str(tmp_path),
    }
    words = [*LOCHAN, "shell", "--engine", "spark", "--master", there.master]
    asked = "from logs | k > 100 | count()\nfrom holes\nfrom logs\n"
    ran = subprocess.run(words, input=asked, capture_output=True, text=True, env={**os.environ, **env}, check=False)
    assert parsed(ran.stdout) == [{"count": 899}, *ROWS], ran.stderr
    assert ran.returncode == 10 and ran.stderr.splitlines()[0].endswith("is not on the store any more"), ran.stderr
    assert not list(tmp_path.rglob("*.parquet"))
    assert not list(tmp_path.glob("lochan-*"))
    check_job(env, there, 1_000)


def test_frames_to_a_lake_in_a_bucket_and_back(there: Cluster, store: MinioServer, tmp_path: Path) -> None:
    """By executors; one task is run twice, and its rows are there once."""
    url = f"s3://{store.bucket('frames')}/lake"

    async def make() -> None:
        lake = await Lake.create(open_store(url, store.options))
        await lake.create_pool("logs", BY_K, actor=ANN)
        await lake.create_repository("files", actor=ANN)
        await lake.close()

    run(make())
    jars = f"{s3a.jars()}/*"
    env = there.configured({"spark.driver.extraClassPath": jars, "spark.executor.extraClassPath": jars}) | {
        "LOCHAN_LAKE": url,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": store.endpoint,
        "AWS_ACCESS_KEY_ID": store.access_key,
        "AWS_SECRET_ACCESS_KEY": store.secret_key,
    }
    command = [sys.executable, "-m", "tests.spark.run_frames", there.master, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env}, check=False, timeout=280)
    assert ran.returncode == 0, ran.stderr[-4_000:]
    assert store.secret_key not in ran.stdout + ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    assert found["tries"] == ["try-0", "try-1"]
    assert (found["landed"], found["native"][0], found["scheme"]) == (400, 600, "s3a")
    assert (found["source"], found["files"]) == (2 * sum(range(400)), 50)


SHIPPED = """
import sys
from collections.abc import Iterator
import pyarrow as pa
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark.package import ship
from lochan.engines.spark.place import SparkPlace
from lochan.engines.spark.session import session_at

def where(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import lochan.pools.layout
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"file": [lochan.pools.layout.__file__]})

spark = session_at(SparkPlace(sys.argv[1]), STANDARD)
ship(spark)
ship(spark)
print(*(row.file for row in spark.range(4, numPartitions=4).mapInArrow(where, "file string").collect()))
spark.stop()
"""


def test_executors_import_what_the_driver_has(there: Cluster, tmp_path: Path) -> None:
    env = {**os.environ, **there.configured()}
    ran = subprocess.run(
        [sys.executable, "-c", SHIPPED, there.master],
        capture_output=True,
        text=True,
        env=env,
        cwd=tmp_path,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    files = ran.stdout.split()
    assert len(files) == 4
    assert all("lochan.zip/lochan/pools/layout.py" in file for file in files), files


def test_a_compaction(there: Cluster, tmp_path: Path) -> None:
    """Executors read the objects and write those that stand for them."""
    env = there.configured() | {"LOCHAN_LAKE": str(tmp_path / "lake")}
    run(fill(LocalStore(str(tmp_path / "lake"), create=True)))
    done = json.loads(lochan(env, "compact", "logs", "--engine", "spark", "--master", there.master, "-f", "json"))
    assert (done["before"], done["after"], done["rows"]) == (3, 1, 1_000)
    assert lochan(env, "diff", "--rows", "logs@main~1", "logs") == "0 added, 0 removed\n"
    (job, *_) = json.loads(lochan(env, "jobs", "-f", "json"))
    assert (job["kind"], job["about"], job["state"], job["rows"]) == ("compact", "logs@main", "done", 1_000)


def test_files_of_a_bucket_are_loaded_by_the_executors(there: Cluster, store: MinioServer) -> None:
    """Also where hardly anything may come to the driver."""
    bucket = store.bucket("loads-on-a-cluster")
    client = store.boto3()
    for number in range(3):
        lines = "".join(json.dumps(row) + "\n" for row in ROWS[number::3])
        client.put_object(Bucket=bucket, Key=f"in/{number}.ndjson", Body=lines.encode())
    env = there.configured({"spark.driver.maxResultSize": "1m"}) | {
        "LOCHAN_LAKE": f"s3://{bucket}/lake",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": store.endpoint,
        "AWS_ACCESS_KEY_ID": store.access_key,
        "AWS_SECRET_ACCESS_KEY": store.secret_key,
    }
    lochan(env, "init")
    lochan(env, "create", "logs", "--key", "k")
    words = ["--engine", "spark", "--master", there.master, "-f", "json"]
    assert json.loads(lochan(env, "load", "logs", f"s3://{bucket}/in/", *words))["rows"] == len(ROWS)
    assert parsed(lochan(env, "query", "from logs")) == ROWS
    (job,) = json.loads(lochan(env, "jobs", "-f", "json"))
    assert (job["kind"], job["state"], job["where"]) == ("load", "done", there.master)
