"""A lake beside Iceberg and Delta in one session of Spark, and their tables inside a repository."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import lochan
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.spark.catalog import catalog_settings
from tests.integration.gateway.trees import objects
from tests.run import run
from tests.servers.lochan import LochanServer, lochan_server
from tests.spark import maven, s3a
from tests.unit.engines.lake import query_lake

ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
DELTA = "io.delta:delta-spark_4.1_2.13:4.1.0"
_NOT_NEEDED = (  # what Spark has already
    *("org.apache.logging.log4j:log4j-api", "org.apache.logging.log4j:log4j-core"),
    *("org.apache.logging.log4j:log4j-slf4j2-impl", "org.slf4j:slf4j-api"),
)
ROWS = [{"k": k, "name": f"n{k}", "ts": f"2026-11-{k + 1:02}T00:00:00Z"} for k in range(9)]
TOTAL = [9, 36, "n8", "2026-11-01 00:00:00"]
pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    with lochan_server(tmp_path_factory.mktemp("served") / "lake") as running:
        running.lochan("repo", "create", "tables")
        yield running
        assert "Traceback" not in running.log.read_text()


@pytest.fixture(scope="module")
def seen(server: LochanServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("formats")
    run(_filled(folder))
    lake = str(folder / "lake")
    settings = _settings(server, lake, folder)
    command = [sys.executable, "-m", "tests.spark.run_table_formats", json.dumps(settings), lake, str(folder)]
    ran = subprocess.run(
        [*command, "s3a://tables"],
        env=maven.environment() | {"PYTHONPATH": str(Path(__file__).parents[2])},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=800,
    )
    assert ran.returncode == 0, ran.stderr[-4_000:]
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


async def _filled(folder: Path) -> None:
    """A pool with nine rows, and a branch on which a row is more and one differs."""
    async with query_lake(folder) as lake:
        await lake.pool("logs", ROWS, settings=PoolSettings((PoolKey(("k",)),), times=(("ts",),)))
    with lochan.connect(folder / "lake") as opened:
        pool = opened.pool("logs")
        pool.create_branch("dev", "main")
        pool.delete_rows("k == 0", branch="dev")
        pool.load([{**ROWS[0], "name": "z"}, {**ROWS[8], "k": 9}], branch="dev")


def _settings(server: LochanServer, lake: str, folder: Path) -> dict[str, str]:
    jars = [maven.jars("iceberg", ICEBERG), maven.jars("delta", DELTA, _NOT_NEEDED), s3a.jars()]
    extensions = (
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "io.delta.sql.DeltaSparkSessionExtension",
    )
    store = {name: value for name, value in s3a.settings(server).items() if name.startswith("spark.hadoop.")}
    return {
        **store,
        **catalog_settings("lake", lake=lake),
        "spark.driver.extraClassPath": ":".join(f"{each}/*" for each in jars),
        "spark.sql.extensions": ",".join(extensions),
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        **_iceberg("ice", f"{folder}/iceberg"),
        **_iceberg("inner", "s3a://tables/main/iceberg"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.databricks.delta.snapshotPartitions": "2",
    }


def _iceberg(name: str, warehouse: str) -> dict[str, str]:
    prefix = f"spark.sql.catalog.{name}"
    return {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.type": "hadoop",
        f"{prefix}.warehouse": warehouse,
    }


def test_rows_go_from_each_to_the_others(seen: dict[str, Any]) -> None:
    twice = [18, 72, *TOTAL[2:]]
    assert seen["copied"] == {
        "lake.logs": TOTAL,
        "ice.db.logs": TOTAL,
        "logs": TOTAL,
        "lake.from_iceberg": TOTAL,
        "lake.from_delta": twice,
    }


def test_a_branch_is_merged_into_them(seen: dict[str, Any]) -> None:
    assert seen["merged"] == {"iceberg": [10, "z"], "delta": [10, "z"], "joined": [10], "lake": [9, "n8"]}


def test_frames_beside_them(seen: dict[str, Any]) -> None:
    assert seen["framed"] == {"landed": 4, "now": [4, 5]}


def test_their_tables_in_a_repository(seen: dict[str, Any], server: LochanServer) -> None:
    """On a branch, the log of a Delta table names the files of that branch; Iceberg names those of the first one."""
    assert seen["inside"] == {"delta": [10, 45], "iceberg": [10, 45]}
    server.lochan("commit", "tables", "-m", "two tables")
    server.lochan("branch", "create", "tables@dev", "--from", "main")
    with closing(server.boto3()) as s3:
        held = objects(s3, "tables", "dev/")
    log = [json.loads(line) for line in held["delta/_delta_log/00000000000000000000.json"].splitlines()]
    added = [line["add"]["path"] for line in log if "add" in line]
    assert added and all(f"delta/{path}" in held for path in added)
    metadata = [data for path, data in held.items() if path.endswith(".metadata.json")]
    assert metadata and all(b"s3a://tables/main/iceberg/db/t" in data for data in metadata)
