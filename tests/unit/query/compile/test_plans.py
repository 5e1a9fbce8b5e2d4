"""What a plan needs from its sources, and its SQL: no more than a person would write."""

from __future__ import annotations

import pytest

from lochan.errors import Refused
from lochan.query.dialects import render
from lochan.query.dialects.neutral import neutral
from lochan.query.leaves import ScanRequest
from tests.unit.query.run_query import answer, ask, planned
from tests.unit.query.toy_source import ToySource

ROWS = [{"status": 200, "host": "a", "bytes": 1.5, "o": {"p": 1}}, {"status": 500, "host": "b", "bytes": 2.5}]


def scan_request(query: str, rows: list[dict[str, object]] = ROWS) -> ScanRequest:
    source = ToySource(rows)
    planned(query, source)
    (found,) = source.request
    return found


@pytest.mark.parametrize(
    "query, columns",
    [
        ("from p | count()", []),
        ("from p | status >= 500 | count() by host", ["status:int", "host:string"]),
        ("from p | put big := bytes * 2, unused := o.p | cut host, big", ["host:string", "bytes:float"]),
        ("from p | sort bytes | head 1 | cut host", ["bytes:float", "host:string"]),
        ("from p | head 5 | where status > 1 | cut host", ["status:int", "host:string"]),
        ("from p | drop bytes, o | rename h := host", ["status:int", "host:string"]),
        ("from p | fork (=> cut host => cut host) | count() by host", None),
        ("from p | has(o.p) | count()", ["o:object", "o.p:int"]),
    ],
)
def test_only_the_leaves_that_are_needed(query: str, columns: list[str] | None) -> None:
    if columns is None:
        source = ToySource(ROWS)
        planned(query, source)
        assert [[leaf.column for leaf in each.leaves] for each in source.request] == [["host:string"], ["host:string"]]
    else:
        assert {leaf.column for leaf in scan_request(query).leaves} <= set(columns)


@pytest.mark.parametrize(
    "query, test",
    [
        ('from p | status >= 500 | host == "a" | count()', '"status:int" >= 500 AND "host:string" = \'a\''),
        ("from p | status >= 500.5", '"status:int" >= 501'),
        ("from p | status in (200, 500)", '"status:int" IN (200, 500)'),
        ("from p | status between 1 and 2", '("status:int" >= 1) AND ("status:int" <= 2)'),
        ("from p | head 1 | status > 1", None),
        ("from p | put status := 1 | status > 0", None),
        ("from p | count() by status | status > 1", '"status:int" > 1'),
        ("from p | count() by status | count > 1", None),
        ("from p | status := max(status) | status > 1", None),
    ],
)
def test_leading_conditions_are_passed_to_the_source(query: str, test: str | None) -> None:
    told = scan_request(query).test
    shown = (
        None
        if told is None
        else render(told, "duckdb").replace(
            '("status:int" >= 500) AND ("host:string" = \'a\')', '"status:int" >= 500 AND "host:string" = \'a\''
        )
    )
    assert shown == test


@pytest.mark.parametrize(
    "query, ordered, first",
    [
        ("from p", True, None),
        ("from p | count()", False, None),
        ("from p | head 3", True, 3),
        ("from p | cut host | head 3", True, 3),
        ("from p | status > 1 | head 3", True, None),
        ("from p | sort host | head 3", False, None),
        ("from p | tail 3", True, None),
        ("from p | first(host)", True, None),
        ("from p | by host", False, None),
    ],
)
def test_order_is_asked_for_where_it_shows(query: str, ordered: bool, first: int | None) -> None:
    found = scan_request(query)
    assert (found.ordered, found.first) == (ordered, first)


def test_the_shape_is_read_only_where_orders_differ() -> None:
    assert not scan_request("from p").shape
    assert scan_request("from p", [{"a": 1, "b": 2}, {"b": 1, "a": 2}]).shape


def test_each_of_several_sources_hears_the_test() -> None:
    one, other = ToySource(ROWS), ToySource([{"status": "x", "level": 1}])
    planned("from p, q | status >= 500 | count()", one, other)
    assert one.request[0].test is not None and render(one.request[0].test, "duckdb") == '"status:int" >= 500'
    assert ask("from p, q | level == 1 or status == 500 | count()", ROWS, [{"level": 1}]) == [{"count": 2}]


def test_a_plain_query_is_plain_sql() -> None:
    sql = planned("from p | status >= 500 | count() by host", ROWS).sql()
    assert 'SELECT "t1"."host:string" AS "host:string", COUNT(*) AS "c1" FROM (' in sql
    assert sql.endswith('AS t1 WHERE "t1"."status:int" >= 500 GROUP BY "t1"."host:string") AS t2')


@pytest.mark.thorough
def test_a_long_sum_is_no_longer_than_it_must_be() -> None:
    """Null, missing and errors are carried along; the code for them must not grow by a factor with each step."""
    rows: list[dict[str, object]] = [{"a": 1, "b": 2}, {"a": None, "b": "x"}, {"b": 3}, {"a": 4}]
    terms = " + ".join(["a", "b"] * 10)
    plan = planned(f"from p | yield {{n: {terms}}}", rows)
    assert len(plan.sql()) < 50_000
    assert answer(plan) == [{"n": 30}, {"n": None}, {}, {}]


def test_an_engine_that_has_no_word_for_it_refuses() -> None:
    with pytest.raises(Refused, match="no form for `magic`"):
        render(neutral("magic"), "duckdb")
    with pytest.raises(Refused, match="no engine"):
        planned("from p", ROWS).sql("sqlite")
    with pytest.raises(Refused, match="from the end"):
        planned("from p | yield m[-1]", [{"m": [1, "a"]}]).sql("spark")
    assert planned('from p | load q message "m"', ROWS).load is not None
