"""Polars, unmodified: `storage_options` with an endpoint, keys and plain HTTP."""

import io
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.integration.gateway.trees import objects, staged
from tests.servers.lochan import LochanServer

FRAME = pl.DataFrame(
    {"id": range(200_000), "part": [n % 3 for n in range(200_000)], "name": [f"näme {n}" for n in range(200_000)]}
)


@pytest.fixture
def options(server: LochanServer) -> dict[str, str]:
    return _options(server, server.endpoint)


def _options(server: LochanServer, endpoint: str) -> dict[str, str]:
    return {
        "aws_endpoint_url": endpoint,
        "aws_access_key_id": server.access_key,
        "aws_secret_access_key": server.secret_key,
        "aws_region": "us-east-1",
        "aws_allow_http": "true",
    }


def test_a_frame_is_written_and_scanned(options: dict[str, str], server: LochanServer, s3: Any, bucket: str) -> None:
    there = f"s3://{bucket}/main/t/one file.parquet"
    FRAME.write_parquet(there, storage_options=options, compression="uncompressed")
    [(path, data)] = objects(s3, bucket, "main/").items()
    assert staged(server, bucket) == {"t/one file.parquet": len(data)}
    assert path == "t/one file.parquet"
    assert_frame_equal(pl.read_parquet(io.BytesIO(data)), FRAME)
    scan = pl.scan_parquet(there, storage_options=options)
    assert_frame_equal(scan.collect(), FRAME)
    assert scan.filter(pl.col("id") > 199_997).select("name").collect().to_series().to_list() == [
        "näme 199998",
        "näme 199999",
    ]
    FRAME.head(10).lazy().sink_csv(f"s3://{bucket}/main/t/a.csv", storage_options=options)
    assert_frame_equal(pl.scan_csv(f"s3://{bucket}/main/t/a.csv", storage_options=options).collect(), FRAME.head(10))


def test_partitions_globs_and_folders(options: dict[str, str], server: LochanServer, bucket: str) -> None:
    there = f"s3://{bucket}/main/parts"
    FRAME.lazy().sink_parquet(pl.PartitionBy(there, key=["part"]), storage_options=options)
    assert {path.partition("/")[0] for path in staged(server, bucket, "parts/")} == {"part=0", "part=1", "part=2"}
    for place in (f"{there}/", f"{there}/**/*.parquet", f"{there}/part=*/*.parquet"):
        scan = pl.scan_parquet(place, storage_options=options, hive_partitioning=True)
        assert_frame_equal(scan.collect(), FRAME, check_row_order=False, check_column_order=False)
        assert scan.filter(pl.col("part") == 2).select(pl.len()).collect().item() == 66_666


def test_on_the_flat_listener(server: LochanServer, s3: Any, bucket: str) -> None:
    options = _options(server, server.flat_endpoint)
    FRAME.write_parquet(f"s3://{bucket}/t.parquet", storage_options=options)
    assert_frame_equal(pl.read_parquet(f"s3://{bucket}/t.parquet", storage_options=options), FRAME)
    assert_frame_equal(pl.read_parquet(io.BytesIO(objects(s3, bucket, "main/")["t.parquet"])), FRAME)
