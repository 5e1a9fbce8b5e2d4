"""A standalone cluster: queries on a lake in a shared folder and in a bucket through S3A, and everything that executors
write, while they are killed and tasks run twice.

The driver is a process of its own, as a user starts it; all work that can share one does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from lochan.api.pool import load_rows
from lochan.api.queries import run_query
from lochan.lake import Lake
from lochan.spark.catalog import CLASS, catalog_jar
from lochan.store.local import LocalStore
from lochan.store.open import open_store
from lochan.store.protocol import Store
from tests.run import run
from tests.servers.minio import MinioServer, minio
from tests.spark import s3a
from tests.spark.cluster import Cluster, cluster, environment, pyspark_home
from tests.spark.harm import HURT
from tests.spark.packed import packed_environment
from tests.unit.engines.lake import ANN, BY_K

LOCHAN = [sys.executable, "-c", "from lochan.cli.main import main; main()"]
ROWS = [{"k": number, "host": f"web-{number % 3}", "ms": number / 4} for number in range(1_000)]
ROWS[500]["ms"] = None
NOTHING: Mapping[str, str] = MappingProxyType({})


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
        await load_rows(lake, "logs", ROWS[start::3], actor=ANN)
    await lake.create_pool("holes", BY_K, actor=ANN)
    await load_rows(lake, "holes", ROWS, actor=ANN)
    with await run_query(lake, "from holes:objects") as result:
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


# A frame by somebody's program, and then `lochan shell` in the same session.
READ = """
import json, sys
import lochan.spark
from lochan.cli.main import main
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark.place import SparkPlace
from lochan.engines.spark.session import session_at

read = lochan.spark.read(session_at(SparkPlace(sys.argv[1]), STANDARD), "logs", where="k >= 100")
print(json.dumps([read.inputFiles()[0].partition("-")[0], read.count()]), flush=True)  # a scheme for these keys
sys.argv[1:] = ["shell", "--engine", "spark", "--master", sys.argv[1]]
main()
"""


@pytest.mark.full
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
    words = [sys.executable, "-c", READ, there.master]
    asked = "from logs | k > 100 | count()\nfrom holes\nfrom logs\n"
    ran = subprocess.run(words, input=asked, capture_output=True, text=True, env={**os.environ, **env}, check=False)
    assert parsed(ran.stdout) == [["s3a", 900], {"count": 899}, *ROWS], ran.stderr
    assert ran.returncode == 10 and ran.stderr.splitlines()[0].endswith("is no longer on the store"), ran.stderr
    assert not list(tmp_path.rglob("*.parquet"))
    assert not list(tmp_path.glob("lochan-*"))
    check_job(env, there, 1_000)


def submitted(there: Cluster, lake: Path, *words: str, env: Mapping[str, str] = NOTHING) -> dict[str, Any]:
    """What a program of spark-submit saw, to which the catalog's jar goes along."""
    settings = {"spark.sql.catalog.lake": CLASS, "spark.sql.catalog.lake.lake": str(lake), **there.options}
    conf = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command = [str(pyspark_home() / "bin" / "spark-submit"), "--master", there.master, "--jars", catalog_jar(), *conf]
    script = Path(__file__).with_name("run_submitted.py")
    ran = subprocess.run(
        [*command, *words, script, str(lake)],
        env=environment() | dict(env),
        cwd=lake.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr[-4_000:]
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    assert found["catalog"] == [900, sum(range(100, 1_000))]
    assert (found["written"], found["inserted"]) == (10, [15, 45 + 10])
    return found


async def lake_of_two_pools(folder: Path) -> None:
    store = LocalStore(str(folder), create=True)
    await fill(store)
    lake = await Lake.open(store)
    await lake.create_pool("more", BY_K, actor=ANN)
    await lake.close()


def test_the_catalog_by_its_jar(there: Cluster, tmp_path: Path) -> None:
    run(lake_of_two_pools(tmp_path / "lake"))
    submitted(there, tmp_path / "lake")


@pytest.mark.full
def test_executors_whose_machines_have_nothing(there: Cluster, tmp_path: Path) -> None:
    """All that they need is in an archive that Spark sends to them."""
    run(lake_of_two_pools(tmp_path / "lake"))
    archive = packed_environment(tmp_path)
    python = "./environment/bin/python"
    words = ["--archives", f"{archive}#environment", "--conf", f"spark.pyspark.python={python}"]
    words += ["--conf", f"spark.pyspark.driver.python={sys.executable}"]
    env = {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": sys.executable}
    found = submitted(there, tmp_path / "lake", *words, env=env)
    assert found["obstore"]
    assert all(Path(file).is_relative_to(there.folder) for file in found["obstore"]), found["obstore"]
    assert all("/environment/lib/" in file for file in found["obstore"]), found["obstore"]


@pytest.fixture(scope="module")
def day(there: Cluster, store: MinioServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The results of a program whose executors die and whose tasks run twice."""
    bucket = store.bucket("day")
    client = store.boto3()
    for number in range(3):
        lines = "".join(json.dumps(row) + "\n" for row in ROWS[number::3])
        client.put_object(Bucket=bucket, Key=f"in/{number}.ndjson", Body=lines.encode())
    env = there.configured() | {
        "LOCHAN_LAKE": f"s3://{bucket}/lake",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": store.endpoint,
        "AWS_ACCESS_KEY_ID": store.access_key,
        "AWS_SECRET_ACCESS_KEY": store.secret_key,
    }
    folder = tmp_path_factory.mktemp("day")
    command = [sys.executable, "-m", "tests.spark.run_cluster", there.master, str(folder), bucket]
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env}, check=False, timeout=800)
    assert ran.returncode == 0, ran.stderr[-4_000:]
    assert store.secret_key not in ran.stdout + ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def test_executors_import_what_the_driver_has(day: dict[str, Any]) -> None:
    assert len(day["shipped"]) == 4
    assert all("lochan.zip/lochan/pools/layout.py" in file for file in day["shipped"]), day["shipped"]


def test_a_load_whose_executors_die(day: dict[str, Any]) -> None:
    """Files in a bucket are loaded into a new pool."""
    found = day["loaded"]
    assert found["flags"] == HURT, found
    assert (found["rows"], found["found"]) == (len(ROWS), list(range(len(ROWS))))
    assert found["objects"] == 2
    assert found["log"] == ["Load 1,000 rows", "Repository created"]


def test_a_task_that_all_executors_die_of(day: dict[str, Any]) -> None:
    found = day["died"]
    assert found["code"] == 5, found
    first, hint = found["said"].splitlines()
    assert first.startswith("lochan: Spark has failed: executors kept dying on the same task")
    assert "nothing was changed" in hint and "spark.executor.memory" in hint
    assert found["pools"] == ["logs"]


def test_frames_whose_executors_die_and_back(day: dict[str, Any]) -> None:
    found = day["framed"]
    assert found["flags"] == HURT, found
    assert (found["landed"], found["back"], found["files"]) == (400, [600, 2 * sum(range(100, 400))], 50)


def test_a_compaction_whose_executors_die(day: dict[str, Any]) -> None:
    found = day["compacted"]
    assert found["flags"] == HURT, found
    assert found["rows"] == 1_000 and found["after"] > 1
    assert found["diff"] == "0 added, 0 removed\n"


def test_a_stream_whose_executors_die(day: dict[str, Any]) -> None:
    found = day["streamed"]
    assert found["ended"] and found["flags"] == HURT, found
    assert found["found"] == list(range(40))
    assert found["batches"] == ["1", "0", None]


def test_a_collection_whose_executors_die(day: dict[str, Any]) -> None:
    found = day["collected"]
    assert found["flags"] == [HURT, HURT], found
    dead = sum(body.startswith("lost") for body in found["staged"] + found["committed"])
    assert (dead, found["plan"]["files"], found["again"]["files"]) == (0, 12, 0), found
    assert found["plan"]["all_files"] - found["again"]["all_files"] == 12
    assert found["staged"] == [f"left {number}" for number in range(6, 12)]
    assert found["committed"] == [f"left {number}" for number in range(6)]
    assert "nothing is damaged" in found["damage"]
    assert 0 < found["sweep"]["files"] <= 12  # what the dead executor deleted is counted by nobody


def test_all_of_them_are_jobs(day: dict[str, Any], there: Cluster) -> None:
    """Tasks that were run twice count once."""
    jobs = list(reversed(day["jobs"]))
    assert [(each["kind"], each["about"], each["state"]) for each in jobs[-2:]] == [
        ("gc plan", "trash", "done"),
        ("gc sweep", "trash", "done"),
    ]
    jobs = jobs[:-2]
    assert [(each["kind"], each["about"], each["state"], each["rows"]) for each in jobs] == [
        ("load", "logs@main", "done", 1_000),
        ("load", "never@main", "failed", None),
        ("write", "frames@main", "done", 400),
        ("write", "frames@main", "done", 400),
        ("write", "files@main/t/", "done", 50),
        ("compact", "small@main", "done", 1_000),
        ("ingest", "events@main", "done", 40),
    ]
    assert {each["where"] for each in jobs} == {there.master, ""}
    assert all(each["driver_bytes"] > 0 for each in jobs)
    load, _, source, write, _, compact, ingest = (each["executor_bytes"] for each in jobs)
    assert load == day["loaded"]["bytes"]
    assert source + write == day["framed"]["bytes"]
    assert compact == day["compacted"]["bytes"]
    assert ingest == day["streamed"]["bytes"]
