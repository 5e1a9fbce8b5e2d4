"""DuckDB's httpfs, unmodified. It needs a secret with the endpoint, path style and no TLS."""

import io
import json
import subprocess
from collections.abc import Callable
from hashlib import md5
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.integration.gateway import run_sql
from tests.integration.gateway.trees import objects, staged
from tests.servers.client_env import program
from tests.servers.lochan import LochanServer

Sql = Callable[..., list[list[Any]]]

ROWS = "SELECT i, i % 3 AS part, 'name ' || (i % 7) AS name, md5(i::VARCHAR) AS digest FROM range({}) t(i)"


@pytest.fixture
def sql(server: LochanServer) -> Sql:
    return _sql(server, server.s3)


def _sql(server: LochanServer, host: str) -> Sql:
    """Runs statements; the rows of the last, as lists."""
    secret = f"""CREATE SECRET (TYPE s3, KEY_ID '{server.access_key}', SECRET '{server.secret_key}',
        ENDPOINT '{host}', REGION 'us-east-1', URL_STYLE 'path', USE_SSL false)"""

    def run(*statements: str) -> list[list[Any]]:
        done = subprocess.run(
            [program("duckdb"), run_sql.__file__],
            input=json.dumps([secret, *statements]),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        rows: list[list[Any]] = json.loads(done.stdout)[-1]
        return rows

    return run


def test_parquet_is_written_and_read(sql: Sql, server: LochanServer, s3: Any, bucket: str) -> None:
    there = f"s3://{bucket}/main/t/one file.parquet"
    written = sql(
        f"COPY ({ROWS.format(500_000)}) TO '{there}' (FORMAT parquet, COMPRESSION uncompressed)",  # in several parts
        f"SELECT count(*), sum(i), count(DISTINCT digest), max(name) FROM '{there}'",
    )
    assert written == [[500_000, sum(range(500_000)), 500_000, "name 6"]]
    [(path, data)] = objects(s3, bucket, "main/").items()
    assert path == "t/one file.parquet"
    table = pq.read_table(io.BytesIO(data))
    assert table["i"].to_pylist() == list(range(500_000))
    assert staged(server, bucket) == {path: len(data)}
    assert sql(f"SELECT digest FROM '{there}' WHERE i = 499999") == [[md5(b"499999").hexdigest()]]


def test_partitions_and_globs(sql: Sql, server: LochanServer, s3: Any, bucket: str) -> None:
    there = f"s3://{bucket}/main/parts"
    sql(f"COPY ({ROWS.format(3_000)}) TO '{there}' (FORMAT parquet, PARTITION_BY (part, name))")
    found = objects(s3, bucket, "main/parts/")
    assert {path.rpartition("/")[0] for path in found} == {
        f"part={part}/name=name%20{name}" for part in range(3) for name in range(7)
    }
    counted = "SELECT part, count(*), sum(i) FROM read_parquet('{}', hive_partitioning = true) {} GROUP BY 1 ORDER BY 1"
    expected = [[part, 1_000, sum(range(part, 3_000, 3))] for part in range(3)]
    assert sql(counted.format(f"{there}/**/*.parquet", "")) == expected
    assert sql(counted.format(f"{there}/*/*/*.parquet", "WHERE part = 1")) == expected[1:2]
    assert sql(counted.format(f"{there}/part=[02]/**", "")) == [expected[0], expected[2]]
    assert sql(f"SELECT count(*) FROM glob('{there}/**')") == [[len(found)]]


def test_partitions_are_overwritten_and_appended_to(sql: Sql, server: LochanServer, bucket: str) -> None:
    there = f"s3://{bucket}/main/parts"
    count = f"SELECT count(*) FROM '{there}/**/*.parquet'"
    options = "FORMAT parquet, PARTITION_BY (part)"
    assert sql(f"COPY ({ROWS.format(30)}) TO '{there}' ({options})", count) == [[30]]
    assert sql(f"COPY ({ROWS.format(60)}) TO '{there}' ({options}, OVERWRITE_OR_IGNORE)", count) == [[60]]
    appended = f"COPY ({ROWS.format(9)}) TO '{there}' ({options}, APPEND)"
    assert sql(appended, count) == [[69]]
    assert sql(f"COPY ({ROWS.format(12)}) TO '{there}' ({options}, OVERWRITE)", count) == [[12]]


def test_refs_are_folders(sql: Sql, server: LochanServer, bucket: str) -> None:
    sql(f"COPY ({ROWS.format(10)}) TO 's3://{bucket}/main/t.parquet'")
    server.lochan("commit", bucket, "-m", "ten rows")
    server.lochan("tag", "create", f"{bucket}@ten")
    server.lochan("branch", "create", f"{bucket}@dev")
    sql(f"COPY ({ROWS.format(25)}) TO 's3://{bucket}/dev/t.parquet'")
    counts = [f"(SELECT count(*) FROM 's3://{bucket}/{ref}/t.parquet')" for ref in ("main", "ten", "dev", "dev@")]
    assert sql(f"SELECT {', '.join(counts)}") == [[10, 10, 25, 10]]
    assert sql(f"SELECT count(*) FROM 's3://{bucket}/*/t.parquet'") == [[35]]  # the branches


def test_text_files_on_the_flat_listener(server: LochanServer, s3: Any, bucket: str) -> None:
    sql = _sql(server, server.flat)
    there = f"s3://{bucket}/text"
    sql(f"COPY ({ROWS.format(1_000)}) TO '{there}/a.csv'", f"COPY ({ROWS.format(1_000)}) TO '{there}/b.json.gz'")
    assert sql(f"SELECT count(*), sum(i) FROM '{there}/a.csv'") == [[1_000, sum(range(1_000))]]
    assert sql(f"SELECT count(*), sum(i) FROM '{there}/b.json.gz'") == [[1_000, sum(range(1_000))]]
    assert objects(s3, bucket, "main/text/")["a.csv"].startswith(b"i,part,name,digest\n0,0,name 0,cfcd2084")
