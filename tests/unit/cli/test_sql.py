"""SQL from the command line to the rows of pools, branches and metadata."""

import json
from pathlib import Path
from typing import Any

import pytest

from lochan.cli import exit_codes
from tests.unit.cli.invoke import lochan

FIRST = [
    {"ts": "2026-11-01T10:00:00Z", "host": "a", "status": 200, "took": 1.5},
    {"ts": "2026-11-01T11:00:00Z", "host": "b", "status": "bad", "took": 2},
]
SECOND = [{"ts": "2026-11-02T11:00:00Z", "host": "a", "status": 500, "user": {"name": "eve"}}]


@pytest.fixture
def lake(newcomer: Path) -> Path:
    done("init")
    done("create", "logs", "--key", "ts:time", "--time", "ts")
    for rows in (FIRST, SECOND):
        done("load", "logs", "-", stdin="\n".join(map(json.dumps, rows)) + "\n")
    return newcomer


def done(*args: str, stdin: str | None = None) -> str:
    result = lochan(*args, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout


def rows(text: str, *options: str) -> list[Any]:
    return [json.loads(line) for line in done("query", text, "-f", "ndjson", *options).splitlines()]


@pytest.mark.thorough
def test_sql_over_a_lake(lake: Path) -> None:
    assert rows("select host, count(*) n from logs group by host order by n desc") == [
        {"host": "a", "n": 2},
        {"host": "b", "n": 1},
    ]
    assert rows("select * from logs@main where status = 500") == [
        {"ts": "2026-11-02T11:00:00Z", "host": "a", "status": 500, "took": None, "user": {"name": "eve"}}
    ]
    assert rows("select host, took from logs@main~1 order by ts desc limit 1") == [{"host": "b", "took": 2}]
    assert rows("select user.name who from logs where ts >= '2026-11-02'") == [{"who": "eve"}]
    assert rows("select host from logs except select host from logs@main~1") == []
    assert rows("select sum(count) n from logs:objects") == [{"n": 3}]
    assert rows('select p.name, b.name branch from :pools p, "logs:branches" b') == [{"name": "logs", "branch": "main"}]
    both = "with b as (select * from logs@main~1) select count(*) n, count(b.ts) old from logs a left join b using (ts)"
    assert rows(both) == [{"n": 3, "old": 2}]


def test_a_condition_prunes(lake: Path) -> None:
    plan = json.loads(done("explain", "select host from logs where ts >= '2026-11-02'", "-f", "json"))
    assert (plan["sources"][0]["objects"], plan["sources"][0]["objects_read"]) == (2, 1)
    plan = json.loads(done("explain", "select host from logs where host = 'a'", "-f", "json"))
    assert plan["sources"][0]["objects_read"] == 2


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "select hst from (select host from logs)",
            [
                "lochan: unknown column `hst`; did you mean `host`?",
                "  select hst from (select host from logs)",
                "         ^^^",
            ],
        ),
        ("select 1 from lgs", ["lochan: there is no pool", "  select 1 from lgs", "                ^^^"]),
        ("select 1 from logs@nope", ["lochan: "]),
        ("select 1 from logs where took > (select took from logs)", ["lochan: a subquery for a single value"]),
        ("select * from read_csv('/etc/passwd')", ["lochan: `read_csv` is not a table"]),
    ],
)
def test_a_mistake_is_shown(lake: Path, text: str, message: list[str]) -> None:
    result = lochan("query", text)
    assert result.exit_code in (exit_codes.INVALID, exit_codes.NOT_FOUND)
    lines = result.stderr.splitlines()
    assert [line[: len(each)] for line, each in zip(lines, message, strict=False)] == message


@pytest.mark.parametrize(
    "text, hint", [("delete from logs", "`lochan delete POOL"), ("from logs", "`lochan query QUERY`")]
)
def test_an_error_for_other_statements_names_the_right_verb(newcomer: Path, text: str, hint: str) -> None:
    result = lochan("sql", text)
    assert result.exit_code == exit_codes.INVALID
    assert "begins with neither select nor with" in result.output and hint in result.output
