"""A plan made of SQL gives the same rows on Spark as on DuckDB: windows, joins, subqueries, sets, functions."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lochan.errors import Refused
from lochan.query.compile import Plan
from lochan.query.output.rows import rows
from tests.unit.query.ask import answer
from tests.unit.query.sql.asking import planned
from tests.unit.query.sql.test_as_duckdb import HOSTS, QUERIES, logs, plain
from tests.unit.query.sql.test_meaning import MIXED

MIXED_QUERIES = [
    "select x, count(*) n from p group by x",
    "select id, x from p where x > 2 or x = '5'",
    "select id from p where not (x = 5)",
    "select id from p where x not in (select x from p where id < 3)",
    "select sum(x), avg(x), min(x), max(x), count(distinct x) from p",
    "select x from p union select id from p",
    "select id, lag(x) over (order by id), coalesce(x, 'none'), r.path from p",
]
TELLING = ("over", "join", "union", "intersect", "except", "exists", " in (select", "qualify", "regexp", "date_trunc")
CHOSEN = [text for text in QUERIES if os.environ.get("FULL") or any(word in text for word in TELLING)]
CHOSEN += MIXED_QUERIES


def plan_of(text: str) -> Plan:
    return planned(text, p=MIXED) if text in MIXED_QUERIES else planned(text, logs=logs(), hosts=HOSTS)


@pytest.fixture(scope="module")
def on_spark(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], pa.Table]:
    """All queries in one session."""
    folder: Path = tmp_path_factory.mktemp("sql")
    known = [text for text in CHOSEN if not depends_on_rows(text)]
    texts = [plan_of(text).sql("spark") for text in known]
    command = [sys.executable, "-m", "tests.spark.run_sql", str(folder)]
    ran = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr

    def result(text: str) -> pa.Table:
        place = folder / f"{known.index(text)}.arrow"
        assert place.exists(), place.with_suffix(".error").read_text()
        with pa.memory_map(str(place)) as file:
            return pa.ipc.open_file(file).read_all()

    return result


def depends_on_rows(text: str) -> bool:
    try:
        plan_of(text).sql("spark")
    except Refused as error:
        assert "depends on the row" in error.message
        return True
    return False


@pytest.mark.parametrize("text", CHOSEN)
def test_the_same_rows(text: str, on_spark: Callable[[str], pa.Table]) -> None:
    if depends_on_rows(text):
        return
    plan = plan_of(text)
    theirs: list[dict[str, Any]] = [row for batch in on_spark(text).to_batches() for row in rows(batch, plan.row)]
    assert sorted(map(_comparable, theirs)) == sorted(map(_comparable, answer(plan)))


def test_what_spark_cannot_is_refused_by_name() -> None:
    assert [text for text in QUERIES if depends_on_rows(text)] == [
        "select id, (select count(*) from hosts h where h.host = l.host) from logs l"
    ]


def _comparable(row: dict[str, Any]) -> str:
    return repr([plain(value) for value in row.values()])
