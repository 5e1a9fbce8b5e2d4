"""Loads from the command line: every kind of source, and everything that can go wrong with one."""

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from lochan.cli.exit_codes import INVALID, NOT_FOUND, REFUSED
from lochan.cli.root import cli
from tests.servers.minio import MinioServer

ROWS = [{"ts": f"2026-11-01T10:00:{n:02}Z", "n": n, "host": f"h{n % 3}"} for n in range(50)]


@pytest.fixture(autouse=True)
def newcomer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name != "LOCHAN_COMPANION" and name.startswith(("LOCHAN_", "AWS_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def lochan(*words: str, input: bytes | None = None) -> Result:
    return CliRunner().invoke(cli, words, prog_name="lochan", catch_exceptions=False, input=input)


def fine(*words: str, input: bytes | None = None) -> str:
    result = lochan(*words, input=input)
    assert result.exit_code == 0, (words, result.output)
    return result.stdout


def answer(*words: str, input: bytes | None = None) -> Any:
    return json.loads(fine(*words, "-f", "json", input=input))


def wrong(code: int, *words: str, input: bytes | None = None) -> str:
    result = lochan(*words, input=input)
    assert result.exit_code == code, (words, result.output)
    assert result.stderr.startswith("lochan: ")
    return result.stderr


def ndjson(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def commits() -> int:
    return len(answer("log", "logs"))


def rows_in(pool: str = "logs") -> list[dict[str, Any]]:
    return [json.loads(line) for line in fine("query", f"from {pool}", "-f", "ndjson").splitlines()]


@pytest.fixture
def lake() -> None:
    fine("init")
    fine("create", "logs", "--key", "ts:time")


@pytest.mark.usefixtures("lake")
def test_all_sources_become_one_commit(tmp_path: Path) -> None:
    before = commits()
    (tmp_path / "a.ndjson").write_bytes(ndjson(ROWS[:5]))
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "deep/er/b.json.gz").write_bytes(gzip.compress(json.dumps(ROWS[5:10]).encode()))
    (tmp_path / "deep/.hidden").write_text("no rows")
    (tmp_path / "g1.csv").write_text("ts,n,host\n" + "".join(f"{r['ts']},{r['n']},{r['host']}\n" for r in ROWS[10:15]))
    (tmp_path / "g2.csv").write_text("ts,n,host\n" + "".join(f"{r['ts']},{r['n']},{r['host']}\n" for r in ROWS[15:20]))
    pq.write_table(pa.Table.from_pylist(ROWS[20:25]), tmp_path / "c.parquet")
    sources = ("a.ndjson", "deep", "g*.csv", f"file://{tmp_path}/c.parquet", "-")
    made = answer("load", "logs", *sources, "-m", "all", "--meta", '{"job":7}', input=ndjson(ROWS[25:]))
    assert (made["rows"], made["errors"], len(made["objects"])) == (50, 0, 1)
    assert commits() == before + 1
    head = answer("log", "logs")[0]
    assert (head["message"], head["metadata"]) == ("all", {"job": "7"})
    assert rows_in() == ROWS


@pytest.mark.usefixtures("lake")
def test_a_load_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "good.ndjson").write_bytes(ndjson(ROWS))
    (tmp_path / "bad.ndjson").write_bytes(ndjson(ROWS[:3]) + b'{"ts": oops}\n')
    before = commits()
    message = wrong(INVALID, "load", "logs", "good.ndjson", "bad.ndjson")
    assert "bad.ndjson:4:8: expecting value" in message and "oops" in message and "nothing was loaded" in message
    assert wrong(NOT_FOUND, "load", "logs", "good.ndjson", "nobody.ndjson") == "lochan: no file nobody.ndjson\n"
    assert "no file matches" in wrong(NOT_FOUND, "load", "logs", "x*.csv")
    (tmp_path / "empty").mkdir()
    assert "no files in empty" in wrong(NOT_FOUND, "load", "logs", "empty")
    assert "no rows to load" in wrong(INVALID, "load", "logs", "-", input=b"\n")
    assert "branch" in wrong(NOT_FOUND, "load", "logs@nobody", "good.ndjson")
    assert "read once" in wrong(INVALID, "load", "logs", "-", "-")
    assert "is not a place to read from" in wrong(INVALID, "load", "logs", "soon://there/x")
    assert commits() == before


@pytest.mark.usefixtures("lake")
def test_faults_are_skipped_or_kept_and_reported(tmp_path: Path) -> None:
    data = ndjson(ROWS[:2]) + b"nope\n" + ndjson(ROWS[2:4]) + b'{"a":1,"a":1}\n'
    result = lochan("load", "logs", "-", "--on-error", "skip", input=data)
    assert result.exit_code == 0
    assert "standard input:3:1: expecting value" in result.stderr and "2 lines were no row" in result.stderr
    assert "loaded 4 rows into logs" in result.stdout
    made = answer("load", "logs", "-", "--on-error", "keep", input=data)
    assert (made["rows"], made["errors"]) == (6, 2)
    assert made["first_errors"][0] == "standard input:3:1: expecting value"
    assert sum("_error" in row for row in rows_in()) == 2


@pytest.mark.usefixtures("lake")
def test_values_that_are_not_times_are_counted() -> None:
    fine("create", "declared", "--key", "ts:time")
    data = ndjson([{"ts": "2026-11-01T10:00:00+01:00"}, {"ts": "n/a"}, {"ts": "2026-02-30"}, {"ts": None}])
    result = lochan("load", "declared", "-", input=data)
    assert result.exit_code == 0 and "loaded 4 rows" in result.stdout
    assert "2 values of ts are no times, and were loaded as strings" in result.stderr
    assert answer("load", "declared", "-", input=data)["unparsed_times"] == {"ts": 2}
    one = lochan("load", "declared", "-", input=ndjson([{"ts": "n/a"}]))
    assert "1 value of ts is no time, and was loaded as a string" in one.stderr
    assert answer("load", "logs", "-", input=ndjson(ROWS[:1]))["unparsed_times"] == {}


def test_a_pool_is_made_by_its_first_load(tmp_path: Path) -> None:
    fine("init")
    (tmp_path / "a.ndjson").write_bytes(ndjson(ROWS))
    message = wrong(NOT_FOUND, "load", "logs", "a.ndjson")
    assert "no pool 'logs'" in message and "lochan create logs --key ts:time" in message
    wrong(INVALID, "load", "logs", "-", "--create", input=b"{nope\n")
    assert lochan("load", "logs", "-", "--key", "k", input=b"\n").exit_code != 0
    assert answer("ls") == []
    result = lochan("load", "logs", "a.ndjson", "--create")
    assert result.exit_code == 0 and "created pool logs, sorted by ts" in result.stderr
    assert answer("repo", "show", "logs")["pool"]["times"] == ["ts"]
    fine("load", "other", "-", "--key", "n:desc", input=ndjson(ROWS))
    assert [row["n"] for row in rows_in("other")] == list(range(49, -1, -1))
    assert "is sorted by ts, not by n" in wrong(INVALID, "load", "logs", "a.ndjson", "--key", "n")
    assert "the whole row is the key" in lochan("load", "any-row", "-", "--create", input=b'{"a":1}').stderr
    fine("repo", "create", "files")
    assert "is no pool" in wrong(REFUSED, "load", "files", "a.ndjson")


@pytest.mark.usefixtures("lake")
def test_without_a_pool_the_one_in_use_is_meant(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_bytes(ndjson(ROWS))
    assert "none is in use" in wrong(NOT_FOUND, "load", "a.ndjson")
    fine("use", "logs")
    assert "loaded 50 rows into logs" in fine("load", "a.ndjson")
    assert "loaded 50 rows into logs" in fine("load", "-", input=ndjson(ROWS))


@pytest.mark.usefixtures("lake")
def test_a_packed_source_may_not_become_too_large(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson.gz").write_bytes(gzip.compress(ndjson(ROWS) * 100))
    assert "have become more than 1,000" in wrong(INVALID, "load", "logs", "a.ndjson.gz", "--unpacked-max", "1kB")
    assert "not a size" in wrong(INVALID, "load", "logs", "a.ndjson.gz", "--unpacked-max", "much")
    assert "loaded 5,000 rows" in fine("load", "logs", "a.ndjson.gz")


@pytest.mark.usefixtures("lake")
def test_a_separate_process_prints_only_the_answer(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_bytes(ndjson(ROWS))
    command = [str(Path(sys.executable).with_name("lochan")), "load", "logs", "a.ndjson"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stderr == b""
    assert done.stdout.startswith(b"loaded 50 rows into logs: 1 object")


def test_from_a_bucket_into_a_bucket(minio_server: MinioServer, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = minio_server.bucket("loads")
    monkeypatch.setenv("LOCHAN_LAKE", f"s3://{bucket}/lake")
    monkeypatch.setenv("AWS_ENDPOINT_URL", minio_server.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", minio_server.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", minio_server.secret_key)
    fine("init")
    parquet = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS[25:]), parquet)
    client = minio_server.boto3()
    client.put_object(Bucket=bucket, Key="in/a.ndjson", Body=ndjson(ROWS[:25]))
    client.put_object(Bucket=bucket, Key="in/b.parquet", Body=parquet.getvalue())
    fine("load", "logs", f"s3://{bucket}/in/", "--create")
    assert rows_in() == ROWS
    fine("load", "one", f"s3://{bucket}/in/a.ndjson", "--create")
    fine("load", "one", f"s3://{bucket}/in/*.parquet")
    assert rows_in("one") == ROWS
    assert "there is nothing at" in wrong(NOT_FOUND, "load", "logs", f"s3://{bucket}/nowhere")


def test_names_of_pools_with_dashes_and_underscores_and_of_one_letter() -> None:
    fine("init")
    for name in ("web-logs", "web_logs", "p"):
        fine("load", name, "-", "--create", "--key", "k", input=b'{"k":1}\n{"k":2}\n')
        assert fine("query", f"from {name} | count()", "-f", "ndjson") == '{"count":2}\n'
        assert fine("query", f"select sum(k) as s from {name} t where t.k-1 > 0", "-f", "ndjson") == '{"s":2}\n'
        assert fine("log", f"{name}@main").count("Load 2 rows") == 1
    fine("rename", "web_logs", "w")
    assert "'_w' cannot be a pool's name" in wrong(INVALID, "rename", "w", "_w")
    assert "'my_files' cannot be a repository's name" in wrong(INVALID, "repo", "create", "my_files")
    fine("repo", "create", "files")
    assert "cannot be a repository's name" in wrong(INVALID, "rename", "files", "my_files")
