"""What a query says of the rows of its tables, also from above: see `needs.py`. Each case names the test that the rows
of `logs` must pass, in the pipe language; empty: any row may matter."""

import pytest
from sqlglot import exp

from lochan.pools.row_tests import ANY_ROW, Test
from lochan.query.sources.resolve import SourceNeeds, source_needs
from lochan.query.sql.aggregates import AGGREGATES
from lochan.query.sql.query import read
from lochan.query.syntax.parse import parse


def needs_of(sql: str) -> list[SourceNeeds]:
    return [each for each in source_needs(read(sql).pipe) if each.source.name == "logs"]


def piped(text: str) -> Test:
    [needs] = source_needs(parse(f"from logs | where {text}"))
    return needs.test


TAKEN = [
    ("select * from (select * from logs) where k > 5", "k > 5"),
    ("select * from (select * from (select * from logs) where s = 'a') d where d.k > 5", "s == 'a' and k > 5"),
    ("select * from (select k as z, s from logs) where z = 3", "k == 3"),
    ("select * from (select k, s as t, lower(s) as s from logs) where k = 3 and t = 'x' and s = 'y'",
     "k == 3 and s == 'x'"),
    ("select * from (select l.ctx.user as u from logs l) where u = 'a'", "ctx.user == 'a'"),
    ("select * from (select ctx from logs) d where d.ctx.user = 'a'", "ctx.user == 'a'"),
    ("select count(*) from (select k from logs order by s) where k = 3 group by k", "k == 3"),
    ("select * from (select distinct k from logs) where k = 3", "k == 3"),
    ("select * from (select l.k, o.v from logs l join others o on l.n = o.n) d where d.k = 4 and d.v > 3", "k == 4"),
    ("select * from others o join (select k, n from logs) d on d.n = o.n where d.k = 4", "k == 4"),
    ("with a as (select k as z from logs) select count(*) from a where z = 3", "k == 3"),
    ("with a as (select * from logs), b as (select k as z from a where s = 'x') select * from b where z < 3",
     "s == 'x' and k < 3"),
    ("with a as (select * from logs) select * from a where k = 1 union all select * from a x where x.k = 9",
     "k == 1 or k == 9"),
    ("with a as (select * from logs) select * from others where n in (select a.n from a where a.k = 1)", "k == 1"),
    ("select * from (select k from others union all select s from logs) where k = 4", "s == 4"),
    ("select * from (select k from others union (select s from logs)) where k = 4", "s == 4"),
]  # fmt: skip

LEFT = [
    ("a limit", "select * from (select * from logs limit 5) where k = 3"),
    ("an offset", "select * from (select * from logs offset 5) where k = 3"),
    ("an aggregate", "select * from (select k, count(*) as c from logs group by k) where k = 3"),
    ("one group", "select * from (select max(k) as k from logs) where k = 3"),
    ("a group of all columns", "select * from (select k from logs group by k) where k = 3"),
    ("a window", "select * from (select k, row_number() over (order by k) as r from logs) where k = 3"),
    ("a choice by a window", "select * from (select k from logs qualify rank() over (order by s) < 3) where k = 3"),
    ("a left join", "select * from (select l.k from others o left join logs l on l.n = o.n) where k is null"),
    ("the left of a left join", "select * from (select l.k from logs l left join others o on l.n = o.n) where k = 3"),
    ("a full join above", "select * from (select k, n from logs) d full join others o on d.n = o.n where d.k = 3"),
    ("an anti join", "select * from (select o.k from others o anti join logs l on l.n = o.n) where k = 3"),
    ("a computed column", "select * from (select k + 1 as k from logs) where k = 3"),
    ("a column beside a star", "select * from (select *, 1 as k from logs) where k = 3"),
    ("a star without some", "select * from (select * exclude (k) from logs) where k = 3"),
    ("a star that replaces", "select * from (select * replace (s as k) from logs) where k = 3"),
    ("two of one name", "select * from (select k, s as k from logs) where k = 3"),
    ("a function's own name", "select * from (select lower, lower(s) from logs) where lower = 'a'"),
    ("other names", "select * from (select k, s from logs) as d(s, k) where k = 3"),
    ("other names of a table", "select * from logs as l(s, k) where k = 3"),
    ("other names of a WITH", "with a(s, k) as (select k, s from logs) select * from a where k = 3"),
    ("a join with bare names", "select * from (select k, v from logs l join others o on l.n = o.n) where k = 3"),
    ("a use without a test", "with a as (select * from logs) select * from a where k = 1 union all select * from a"),
    ("a use in a join", "with a as (select * from logs) select * from a where k = 1 and n in (select n from a)"),
    ("names by place of a star", "select * from (select k from others union all select * from logs) where k = 3"),
    ("a difference", "select * from (select k from others except select k from logs) where k = 3"),
]  # fmt: skip


@pytest.mark.parametrize("sql, test", TAKEN, ids=[sql for sql, _ in TAKEN])
def test_a_test_above_is_one_of_the_table(sql: str, test: str) -> None:
    [needs] = needs_of(sql)
    assert needs.test == piped(test.replace("'", '"'))


@pytest.mark.parametrize("sql", [pytest.param(sql, id=name) for name, sql in LEFT])
def test_a_test_above_is_not_taken_through(sql: str) -> None:
    assert [each.test for each in needs_of(sql)] == [ANY_ROW]


@pytest.mark.parametrize(
    "sql, first",
    [
        ("select * from (select k from logs) limit 3", 3),
        ("with a as (select * from logs) select k from a limit 3", 3),
        ("select * from (select * from logs limit 4) limit 3", 4),
        ("with a as (select * from logs) select * from a limit 3 union all select * from a", None),
        ("select * from (select * from logs where k = 3) limit 3", None),
        ("select * from (select distinct k from logs) limit 3", None),
        ("select max(k) from (select k from logs) limit 3", None),
    ],
)
def test_a_limit_above_is_one_of_the_table(sql: str, first: int | None) -> None:
    [needs] = needs_of(sql)
    assert needs.first == first


def test_tests_of_a_with_that_is_used_often_do_not_grow_without_end() -> None:
    named = ["a0 as (select * from logs)"]
    named += [
        f"a{at} as (select * from a{at - 1} where k = {at} union all select * from a{at - 1} where k = {at})"
        for at in range(1, 60)
    ]
    [needs] = needs_of(f"with {', '.join(named)} select * from a59 where k = 1")
    assert str(needs.test).count("Compare") < 500


def test_aggregates_are_known_as_such() -> None:
    assert all(issubclass(each, exp.AggFunc | exp.IgnoreNulls) for each in AGGREGATES)
