"""A plan from SQL gives the same rows on Spark as on DuckDB: windows, joins, subqueries, sets, functions."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark import session
from lochan.errors import Refused
from lochan.query.compile import Plan
from lochan.query.output.formats import rows
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.unit.query.run_query import answer
from tests.unit.query.sql.run_sql import planned
from tests.unit.query.sql.test_as_duckdb import HOSTS, QUERIES, logs, plain
from tests.unit.query.sql.test_semantics import MIXED

pytestmark = LEFT_SOCKETS
MIXED_QUERIES = [
    "select x, count(*) n from p group by x",
    "select id, x from p where x > 2 or x = '5'",
    "select id from p where not (x = 5)",
    "select id from p where x not in (select x from p where id < 3)",
    "select sum(x), avg(x), min(x), max(x), count(distinct x) from p",
    "select x from p union select id from p",
    "select id from (select id, kind(x) k from p order by k limit 3)",
    "select id from p union all select id from p order by 1 limit 3",
    "select id, lag(x) over (order by id), coalesce(x, 'none'), r.path from p",
]
TELLING = ("over", "join", "union", "intersect", "except", "exists", " in (select", "qualify", "regexp", "date_trunc")
CHOSEN = [text for text in QUERIES if os.environ.get("FULL") or any(word in text for word in TELLING)]
CHOSEN += MIXED_QUERIES


def plan_of(text: str) -> Plan:
    return planned(text, p=MIXED) if text in MIXED_QUERIES else planned(text, logs=logs(), hosts=HOSTS)


@pytest.fixture(scope="module")
def on_spark() -> Iterator[Callable[[str], pa.Table]]:
    spark = session.session_at(HERE, STANDARD)
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    yield lambda text: spark.sql(plan_of(text).sql("spark")).toArrow()
    session.stop()


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
