"""What a server records about its requests: the log of use, the access log, its counters."""

import json
import re
import shutil
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import duckdb
import pandas
import pytest

from lochan.api.server_times import PHASES
from tests.integration.api.client import Client
from tests.servers.lochan import LochanServer, lochan_server

SOON = {"LOCHAN_USAGE__FLUSH_S": "0.3"}
WAIT_S = 30  # for what comes within a second or two, on a machine that is busy


@pytest.fixture(scope="module")
def noting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    with lochan_server(tmp_path_factory.mktemp("noting") / "lake", env=SOON) as running:
        yield running


def rows(server: LochanServer, bucket: str) -> list[dict[str, Any]]:
    found = duckdb.sql(
        f"SELECT * REPLACE (epoch_us(time) AS time) FROM '{server.lake}/_lake/usage/*/*.parquet' "
        f"WHERE repository = '{bucket}' ORDER BY time"
    )
    assert found is not None
    return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


def eventually(server: LochanServer, bucket: str, count: int) -> list[dict[str, Any]]:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if list(Path(server.lake).glob("_lake/usage/*/*.parquet")) and len(rows(server, bucket)) >= count:
            break
        time.sleep(0.1)
    return rows(server, bucket)


def test_who_read_and_wrote_what_and_when(noting: LochanServer) -> None:
    with closing(noting.boto3()) as s3, closing(noting.boto3(flat=True)) as flat:
        s3.create_bucket(Bucket="used")
        s3.put_object(Bucket="used", Key="main/a b/ü", Body=b"12345")
        s3.put_object(Bucket="used", Key="main/the short way", Body=b"1234567")
        s3.get_object(Bucket="used", Key="main/a b/ü")["Body"].read()
        s3.copy_object(Bucket="used", Key="main/c", CopySource={"Bucket": "used", "Key": "main/a b/ü"})
        flat.get_object(Bucket="used", Key="c")["Body"].read()
        with closing(noting.boto3(secret="guessed")) as stranger, pytest.raises(Exception, match="signature"):
            stranger.get_object(Bucket="used", Key="main/a b/ü")
        with pytest.raises(Exception, match="NoSuchKey"):
            s3.get_object(Bucket="used", Key="main/none")
    found = eventually(noting, "used", 9)
    told = [tuple(row[name] for name in ("operation", "ref", "path", "bytes", "status")) for row in found]
    refused = [row for row in told if row[4] == 404]
    assert [row[:3] for row in refused] == [("GetObject", "main", "none")]
    assert sorted(row for row in told if row[4] == 200) == [
        ("CopyObject", "main", "c", 0, 200),
        ("CopySource", "main", "a b/ü", 0, 200),
        ("CreateBucket", "", "", 0, 200),
        ("GetObject", "main", "a b/ü", 5, 200),
        ("GetObject", "main", "c", 5, 200),
        ("PutObject", "main", "a b/ü", 5, 200),
        ("PutObject", "main", "the short way", 7, 200),
    ]
    assert [row[:3] for row in told if row[4] == 403] == [("GetObject", "main", "a b/ü")]
    assert {(row["user"], row["status"] == 403) for row in found} == {("admin", False), ("", True)}  # "": a stranger
    assert all(abs(row["time"] / 1e6 - time.time()) < 60 for row in found)
    (file, *_) = Path(noting.lake).glob("_lake/usage/*/*.parquet")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d/\d{6}\.\d{6}-[0-9a-f]{12}\.parquet", f"{file.parent.name}/{file.name}")
    what = ["operation", "repository", "ref", "path", "bytes", "status"]
    columns = ["time", "user", *what, "client", "source", "about", "access_key"]
    assert list(pandas.read_parquet(file).columns) == columns


def test_the_rest_is_written_at_the_end(tmp_path: Path) -> None:
    with lochan_server(tmp_path / "lake") as server:  # it would be written after a minute
        with closing(server.boto3()) as s3:
            s3.create_bucket(Bucket="ended")
            s3.put_object(Bucket="ended", Key="main/a", Body=b"x")
        assert not list(tmp_path.glob("lake/_lake/usage/*/*.parquet"))
        assert list(tmp_path.glob("lake/_lake/usage/open/*.json")), "the log says that rows may be missing"
    assert [row["operation"] for row in rows(server, "ended")] == ["CreateBucket", "PutObject"]
    assert not list(tmp_path.glob("lake/_lake/usage/open/*.json")), "and that none are"


def test_it_can_be_turned_off(tmp_path: Path) -> None:
    off = {"LOCHAN_USAGE__ENABLED": "false", "LOCHAN_LOGGING__ACCESS": "false"}
    with lochan_server(tmp_path / "lake", env=off) as server:
        with closing(server.boto3()) as s3:
            s3.create_bucket(Bucket="silent")
        time.sleep(1.2)  # nothing may be noted meanwhile
        assert "CreateBucket" not in server.log.read_text()
    assert not list(tmp_path.glob("lake/_lake/usage/*/*.parquet"))
    gaps = [file.read_text() for file in tmp_path.glob("lake/_lake/usage/gaps/*.json")]
    assert gaps and all("usage.enabled is off" in each for each in gaps)


def test_a_line_for_each_request_without_its_secrets(noting: LochanServer) -> None:
    with closing(noting.boto3(signature_version="s3v4")) as s3:
        s3.create_bucket(Bucket="lines")
        key = 'main/a"b\nCANARY 1.2.3.4 forged'
        s3.put_object(Bucket="lines", Key=key, Body=b"x")
        link = s3.generate_presigned_url("get_object", {"Bucket": "lines", "Key": key})
        with urllib.request.urlopen(link) as answer:
            assert answer.read() == b"x"
    signature = link.partition("Signature=")[2].partition("&")[0]
    log, lines = "", list[str]()
    deadline = time.monotonic() + WAIT_S
    while len(lines) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
        log = noting.log.read_text()
        lines = [line for line in log.splitlines() if "/lines/main" in line]
    shape = r'\S+Z 127\.0\.0\.1(:\d+)? admin \w+ \w+ "/lines/main/a\\"b\\nCANARY 1\.2\.3\.4 forged" 200 \d+ \d\.\d+ \w+'
    assert [line.split()[3] for line in lines] == ["PutObject", "GetObject"], log
    assert all(re.fullmatch(shape, line) for line in lines), lines
    assert len(signature) > 20 and signature not in log


def test_counters_of_all_processes(noting: LochanServer) -> None:
    with closing(noting.boto3()) as s3:
        s3.list_buckets()
    counted = 'lochan_s3_requests_total{operation="ListBuckets",status="200"} 1.0'
    text = ""
    deadline = time.monotonic() + WAIT_S
    while counted not in text and time.monotonic() < deadline:
        time.sleep(0.1)
        text = Client(noting.api, noting.access_key, noting.secret_key).ask("GET", "/_metrics").body.decode()
    assert counted in text
    assert 'lochan_s3_seconds_bucket{le="+Inf",operation="ListBuckets"} 1.0' in text
    assert "lochan_usage_dropped_rows_total 0.0" in text


def test_where_the_time_goes(noting: LochanServer) -> None:
    """Of reads and writes on both paths, and of lists; the phases of an operation are all of its time."""
    client = Client(noting.api, noting.access_key, noting.secret_key)
    with closing(noting.boto3()) as s3:
        s3.create_bucket(Bucket="phases")
        for number in range(3):
            s3.put_object(Bucket="phases", Key=f"main/{number}", Body=b"x" * 1_000)
            s3.get_object(Bucket="phases", Key=f"main/{number}")["Body"].read()
            s3.list_objects_v2(Bucket="phases", Prefix="main/")

    def top() -> dict[str, list[str]]:
        lines = client.ask("GET", "/_top").body.decode().splitlines()
        head = ["operation", "requests", "a", "second", "p50", "ms", "p99", "ms", "ms", "each"]
        assert lines[1].split() == [*head, *PHASES]
        return {words[0]: words[1:] for words in map(str.split, lines[2:])}

    deadline = time.monotonic() + WAIT_S
    while top().get("ListObjectsV2", ["0"])[0] < "3" and time.monotonic() < deadline:
        time.sleep(0.1)
    shares = {operation: dict(zip(PHASES, words[5:], strict=True)) for operation, words in top().items()}
    times = json.loads(client.ask("GET", "/_top?format=json").body)["operations"]
    for operation, phase in ("ListObjectsV2", "lists"), ("PutObject", "journal"), ("PutObject", "signature"):
        assert times[operation]["phases"][phase] > 0  # where another takes long, it is shown as 0%
    for share in shares.values():
        assert abs(sum(int(each.rstrip("%")) for each in share.values()) - 100) <= 3
    text = client.ask("GET", "/_metrics").body.decode()
    assert 'lochan_s3_phase_seconds_total{operation="PutObject",phase="journal"}' in text
    assert client.ask("GET", "/_top?seconds=1").body.startswith(b"S3 requests within 1 s")
    assert client.ask("GET", "/_top?format=xml").status == 400
    refused = client.ask("GET", "/_top?seconds=soon")
    assert refused.status == 400 and b"is no number of seconds" in refused.body


def block(folder: Path) -> None:
    """A file stands where the folder should be. The server may make the folder again at any moment."""
    while True:
        with suppress(IsADirectoryError):
            folder.write_bytes(b"")
            return
        with suppress(OSError):
            shutil.rmtree(folder)


def test_a_store_that_is_away_costs_rows_and_no_requests(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    with lochan_server(lake, env=SOON) as server, closing(server.boto3()) as s3:
        s3.create_bucket(Bucket="away")
        block(lake / "_lake" / "usage")
        s3.put_object(Bucket="away", Key="main/a", Body=b"x")
        time.sleep(1)  # several attempts to write fail meanwhile
        assert s3.get_object(Bucket="away", Key="main/a")["Body"].read() == b"x"
        (lake / "_lake" / "usage").unlink()
        found = eventually(server, "away", 3)
    assert [row["operation"] for row in found] == ["CreateBucket", "PutObject", "GetObject"]
