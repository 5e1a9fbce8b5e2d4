"""Queries from the command line: every format, every option, and wrong input."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lochan.cli.exit_codes import GONE, INTERRUPTED, INVALID, NOT_FOUND, REFUSED, USAGE
from tests.integration.test_cli_versioning import LOCHAN, answer, fine, lochan, newcomer

__all__ = ["newcomer"]  # a fixture

ROWS = [
    {"ts": "2026-11-01T10:00:00Z", "host": "a", "status": 200},
    {"ts": "2026-11-01T11:00:00Z", "host": "b", "status": 500},
    {"ts": "2026-11-01T12:00:00Z", "host": "a", "status": "bad"},
]


@pytest.fixture(autouse=True)
def logs(newcomer: None) -> None:
    fine("init")
    for name, rows in (("one", ROWS[:2]), ("two", ROWS[2:])):
        Path(f"{name}.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
        fine("load", "logs", f"{name}.ndjson", "--key", "ts:time")


def rows(*words: str) -> list[object]:
    return [json.loads(line) for line in fine("query", *words).splitlines()]


def test_rows_in_every_format() -> None:
    assert rows("from logs") == ROWS
    assert json.loads(fine("query", "from logs", "-f", "json")) == ROWS
    assert fine("query", "from logs | head 1", "-f", "csv") == "ts,host,status\n2026-11-01T10:00:00Z,a,200\n"
    assert fine("query", "from logs | head 1", "-f", "text") == "2026-11-01T10:00:00Z\ta\t200\n"
    titles, first, *_ = fine("query", "from logs", "-f", "table").splitlines()
    assert titles.split() == ["ts", "host", "status"]
    assert first.split() == ["2026-11-01T10:00:00Z", "a", "200"]


def test_rows_in_files() -> None:
    for name in ("out.parquet", "out.arrow", "out.csv", "out.json"):
        fine("query", "from logs | cut host", "-o", name)
    assert pq.read_table("out.parquet")["host"].to_pylist() == ["a", "b", "a"]
    assert pa.ipc.open_stream(Path("out.arrow").read_bytes()).read_all()["host"].to_pylist() == ["a", "b", "a"]
    assert Path("out.csv").read_text() == "host\na\nb\na\n"
    assert json.loads(Path("out.json").read_text()) == [{"host": "a"}, {"host": "b"}, {"host": "a"}]
    assert lochan("query", "from logs | cut host | cut hots", "-o", "wrong.csv").exit_code == INVALID
    assert not list(Path().glob("wrong*"))


def test_a_query_from_a_file_and_of_the_pool_in_use() -> None:
    Path("q").write_text("from logs\n| count()  -- all of them\n")
    assert rows("-I", "q") == [{"count": 3}]
    fine("use", "logs")
    assert rows("count()") == [{"count": 3}]
    assert lochan("query").exit_code == USAGE
    assert lochan("query", "from logs", "-I", "q").exit_code == USAGE
    Path("q").write_bytes(b"\xff")
    assert lochan("query", "-I", "q").exit_code == INVALID


def test_sql() -> None:
    told = fine("sql", "select host, count(*) as n from logs group by host order by n desc")
    assert [json.loads(line) for line in told.splitlines()] == [{"host": "a", "n": 2}, {"host": "b", "n": 1}]
    assert "begins with neither" in lochan("sql", "from logs").stderr


def test_stats_and_explain() -> None:
    result = lochan("query", "from logs | status == 500", "--stats")
    assert [json.loads(line) for line in result.stdout.splitlines()] == ROWS[1:2]
    assert "read      1 of 2 objects" in result.stderr
    assert "1 objects" in result.stderr
    assert "no such value in status" in result.stderr
    told = answer("explain", "from logs | status == 500")
    assert (told["sources"][0]["objects"], told["sources"][0]["objects_read"]) == (2, 1)
    assert "without 1 objects" in fine("explain", "from logs | status == 500")


def test_a_mistake_is_shown_with_its_place() -> None:
    result = lochan("query", "from logs | cut status | stauts == 500")
    assert result.exit_code == INVALID
    assert result.stderr.splitlines() == [
        "lochan: unknown field `stauts`; did you mean `status`?",
        "  from logs | cut status | stauts == 500",
        "                           ^^^^^^",
    ]


def test_a_field_that_no_row_has_is_warned_of() -> None:
    result = lochan("query", "from logs | stauts == 500")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "unknown field `stauts`; did you mean `status`? (line 1, column 13)" in result.stderr


@pytest.mark.parametrize(
    "words, code, message",
    [
        (["--memory", "much"], INVALID, "--memory 'much'"),
        (["--timeout", "soon"], INVALID, "--timeout 'soon'"),
        (["--timeout", "0s"], INVALID, "--timeout '0s'"),
        (["--timeout", "1us"], INVALID, "--timeout '1us'"),
        (["--memory", "1MB"], REFUSED, "needs more than its"),
    ],
)
def test_limits(words: list[str], code: int, message: str) -> None:
    query = "from logs | join (from logs) on host=host | sort ts | count() by host"
    result = lochan("query", query, *words)
    assert (result.exit_code, message in result.stderr) == (code, True), result.stderr


def test_an_object_that_is_gone() -> None:
    [first, _] = [json.loads(line) for line in fine("query", "from logs:objects").splitlines()]
    (Path(".lochan") / first["address"]).unlink()
    result = lochan("query", "from logs | count()")
    assert (result.exit_code, first["id"] in result.stderr) == (GONE, True)
    result = lochan("query", "from logs | count()", "--go-on")
    assert (result.exit_code, result.stdout, first["id"] in result.stderr) == (0, '{"count":1}\n', True)


def test_delete_by_what_rows_hold() -> None:
    assert answer("delete", "logs", "--where", "status >= 500")["rows"] == 1
    assert rows("from logs | count()") == [{"count": 2}]
    assert rows("from logs@main~1 | count()") == [{"count": 3}]
    assert lochan("delete", "logs", "--where", "status >= 500").exit_code == INVALID  # nothing to do
    assert "did you mean `status`?" in lochan("delete", "logs", "--where", "stauts == 1").stderr
    assert lochan("delete", "logs").exit_code == USAGE


def test_load_at_the_end_of_a_query() -> None:
    fine("create", "errors", "--key", "host")
    [told] = rows('from logs | status == 500 | load errors message "found"')
    assert isinstance(told, dict)
    assert told["rows"] == 1
    assert rows("from errors") == ROWS[1:2]
    assert "found" in fine("log", "errors")


def test_a_shell_reads_queries_from_a_pipe() -> None:
    lines = [
        "from logs |",
        "  count()",
        "\\f csv",
        "from logs | head 1 | cut (",
        "host)",
        "\\nonsense",
        "\\q",
        "from logs",
    ]
    result = lochan("shell", stdin="\n".join(lines).encode())
    assert result.stdout == '{"count":3}\nhost\na\n'
    assert "there is no \\nonsense" in result.stderr
    assert result.exit_code == 0
    assert lochan("shell", stdin=b"from lgos\n").exit_code == NOT_FOUND


def test_ctrl_c_ends_a_query(tmp_path: Path) -> None:
    slow = " | ".join(["from logs", *["join (from logs) on 1=1"] * 40, "count()"])
    environment = {**os.environ, "LOCHAN_LAKE": str(tmp_path / ".lochan")}
    with subprocess.Popen([LOCHAN, "query", slow], env=environment, stderr=subprocess.PIPE) as process:
        time.sleep(3)  # it may not end meanwhile
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == INTERRUPTED
