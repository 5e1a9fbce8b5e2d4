"""What DuckDB's SQL does not have: fields of several kinds, missing fields, records; and what is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lochan.query import ast
from lochan.query.errors import QueryError
from lochan.query.sources.resolve import SourceNeeds, source_needs
from lochan.query.sql.query import read
from lochan.query.syntax.tokens import is_sql
from tests.unit.query.sql.run_sql import ask, planned
from tests.unit.query.toy_source import ToySource

MIXED: list[dict[str, Any]] = [
    {"id": 1, "x": 5, "r": {"path": "/a", "n": 1}},
    {"id": 2, "x": "5", "tags": ["p", "q"]},
    {"id": 3, "x": 2.5, "r": {"path": "/b"}},
    {"id": 4, "x": None},
    {"id": 5},
    {"id": 6, "x": True},
]


def ids(text: str) -> list[int]:
    return sorted(row["id"] for row in ask(text, p=MIXED))


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("x = 5", [1]),
        ("x = '5'", [2]),
        ("x <> 5", [2, 3, 6]),
        ("not (x = 5)", [2, 3, 6]),
        ("x > 2", [1, 3]),
        ("not (x > 2)", [2, 6]),
        ("x in (5, '5')", [1, 2]),
        ("x not in (5, '5')", [3, 6]),
        ("x is null", [4, 5]),
        ("x is not null", [1, 2, 3, 6]),
        ("x = null", []),
        ("x is not distinct from null", [4, 5]),
        ("x between 2 and 3", [3]),
        ("r.path = '/a'", [1]),
        ("r.n is null", [2, 3, 4, 5, 6]),
        ("tags[1] = 'p'", [2]),
        ("x in (select x from p where id < 3)", [1, 2]),
        ("x not in (select x from p where id < 3)", [3, 6]),
        ("coalesce(x, 0) = 0", [4, 5]),
        ("case when x = 5 then true else x = '5' end", [1, 2]),
    ],
)
def test_a_field_of_several_kinds(test: str, expected: list[int]) -> None:
    assert ids(f"select id from p where {test}") == expected


def test_it_is_carried_whole() -> None:
    everything = [5, "5", 2.5, None, None, True]
    assert [row["x"] for row in ask("select id, x from p order by id", p=MIXED)] == everything
    assert ask("select x, count(*) n from p group by x order by n desc, x limit 1", p=MIXED) == [{"x": None, "n": 2}]
    nested = "with a as (select x, id from p) select x from (select * from a) order by id"
    assert [row["x"] for row in ask(nested, p=MIXED)] == everything
    assert len(ask("select x from p union select x from p", p=MIXED)) == 5
    assert ask("select distinct x from p where x > 3", p=MIXED) == [{"x": 5}]
    distinct = ask("select distinct x from p order by x desc nulls first", p=MIXED)
    assert [row["x"] for row in distinct] == [None, "5", 5, 2.5, True]
    assert ask("select (select x from p where id = 2) x", p=MIXED) == [{"x": "5"}]
    assert [row["x"] for row in ask("select x from p order by x desc", p=MIXED)][-2:] == [None, None]
    assert ask("select lag(x) over (order by id) x from p where id < 3", p=MIXED) == [{"x": None}, {"x": 5}]


def test_aggregates_take_the_kinds_they_know() -> None:
    (row,) = ask("select sum(x) s, avg(x) a, min(x) lo, count(x) n, count(distinct x) d from p", p=MIXED)
    assert row == {"s": 7.5, "a": 3.75, "lo": True, "n": 4, "d": 4}
    (row,) = ask("select sum(b) s from q", q=[{"b": 2**62}, {"b": 2**62}])
    assert isinstance(row["s"], dict) or row["s"] is None or "64" in str(row["s"])


def test_results_are_tables() -> None:
    rows = ask("select * from p order by id", p=MIXED)
    assert {tuple(row) for row in rows} == {("id", "x", "r", "tags")}
    assert rows[2] == {"id": 3, "x": 2.5, "r": {"path": "/b"}, "tags": None}
    assert ask("select count(*), count(*), max(id) from p", p=MIXED) == [{"count": 6, "count_1": 6, "max": 6}]
    assert ask("select id a, id a from p limit 1", p=MIXED) == [{"a": 1, "a_1": 1}]
    assert ask("select id from p where false", p=MIXED) == []


def test_behind_an_outer_join_nothing_is_sure() -> None:
    rows = ask("select p.id, q.r, q.one from p left join (select id, r, 1 one from p where id=1) q using (id)", p=MIXED)
    assert [row for row in rows if row["id"] < 3] == [
        {"id": 1, "r": {"path": "/a", "n": 1}, "one": 1},
        {"id": 2, "r": None, "one": None},
    ]


# ── sources ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("table", "source"),
    [
        ("logs", ast.Source("logs")),
        ("logs@dev", ast.Source("logs", "dev")),
        ('"logs@dev"', ast.Source("logs", "dev")),
        ("demo-logs@main~2", ast.Source("demo-logs", "main~2")),
        ("logs@{2026-11-01T10:00Z}", ast.Source("logs", "{2026-11-01T10:00Z}")),
        ("logs@dev@{2 hours ago}", ast.Source("logs", "dev@{2 hours ago}")),
        ("logs@main:objects", ast.Source("logs", "main", meta="objects")),
        ("logs:branches", ast.Source("logs", meta="branches")),
        (":pools", ast.Source(None, meta="pools")),
        ("sales@main/2026/*.parquet", ast.Source("sales", "main", "2026/*.parquet")),
        ('"sales@main/2026/a b.csv"', None),
        ('"a name"', ast.Source("a name")),
        ("log*", ast.Source(ast.Glob("log*"))),
        ("logs.$nokey", ast.Source("logs", no_key=True)),
    ],
)
def test_tables_are_sources(table: str, source: ast.Source | None) -> None:
    if source is None:
        with pytest.raises(QueryError, match="is not a source"):
            read(f"select * from {table}")
        return
    for text in (
        f"select * from {table}",
        f"select * from {table} as t where t.x = 'a@b'",
        f"select 1 from a join {table} on true",
    ):
        assert source in [each.source for each in source_needs(read(text).pipe)], text


def test_what_prunes() -> None:
    def tests(text: str) -> list[SourceNeeds]:
        return [each for each in source_needs(read(text).pipe) if each.source.name == "p"]

    known = "Compare(path=('x',), op='>', kind='int', value=5)"
    for text in (
        "select * from p where x > 5 and lower(y) = 'a'",
        "select * from p as t where t.x > 5",
        "select * from p join q on p.id = q.id where p.x > 5",
        "select count(*) from (select * from p where 5 < x) group by y",
        "select * from q where exists (select 1 from p where p.x > 5)",
    ):
        assert str(tests(text)[0].test) == known, text
    for text in (
        "select * from p where x > 5 or lower(y) = 'a'",
        "select * from p where not (x > 5 and lower(y) = 'a')",
        "select * from p left join q on p.id = q.id where q.x > 5",
        "select * from p join q on p.id = q.id where x > 5",
        "select * from q where exists (select 1 from p where x > 5)",
    ):
        assert "Compare" not in str(tests(text)[0].test), text
    assert "kind='time'" in str(tests("select * from p where ts > '2026-11-01'")[0].test)
    assert tests("select a from p limit 5")[0].first == 5
    for text in (
        "select a from p where a > 1 limit 5",
        "select count(*) from p limit 5",
        "select a from p order by a limit 5",
    ):
        assert tests(text)[0].first is None, text


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "under", "message"),
    [
        ("select hst from p", "hst", "unknown column `hst`"),
        ("select idd from p", "idd", "did you mean `id`?"),
        ("select p.idd from p", "p.idd", "unknown column `idd` of `p`; did you mean `id`?"),
        ("select lowr(id) from p", "lowr", "unknown function `lowr`; did you mean `lower`?"),
        ("select id from p where sum(id) > 1", "sum", "an aggregate cannot be used here"),
        ("select id, count(*) from p", "id", "`id` is neither in GROUP BY nor in an aggregate"),
        ("select x.id from p", "x.id", "unknown field `id`"),
        ("select id from p | head 5", "|", "SQL has no `|`"),
        ("select unnest(x) from p", "unnest", "over"),
        ("select r.pth from p", "r.pth", "unknown field `pth`; did you mean `path`?"),
        ("select id from p a, p b", "id", "is in several tables"),
        ("select id from p, p", "p", "two tables are called `p`"),
        ("select * from read_parquet('x')", "read_parquet", "`read_parquet` is not a table"),
        ("select * from glob('*')", "glob", "is not a table"),
        ("select read_text('/etc/passwd')", "read_text", "unknown function `read_text`"),
        ("select getenv('HOME')", "getenv", "unknown function `getenv`"),
        ("select current_setting('x')", "current_setting", "unknown function"),
        ("select id from p limit 1 + 1", "1 + 1", "whole number"),
        ("select id from p where host like", "like", ""),
        ("select id from", "from", ""),
        ("select distinct on (id) id from p", "id", "DISTINCT ON"),
        ("with recursive a as (select 1 union all select * from a) select * from a", "", "RECURSIVE"),
        ("select id from p natural join p q", "", "not supported"),
        ("select id from p tablesample 10%", "", ""),
        ("select id from p where id between symmetric 1 and 2", "id between symmetric 1 and 2", "SYMMETRIC"),
        ("select unnest(tags) from p", "", ""),
        ("select id from p union select id, x from p", "", "one side has 1 columns, the other 2"),
        ("select (select id, x from p) from p", "", "2 columns"),
        ("select id from p order by 3", "3", "there is no column 3"),
        ("select id from p@", "", ""),
        ("select distinct id from p order by len(tags)", "len", "ordered by selected columns"),
        ("select 1e9999999999999999999", "1e9999999999999999999", "too large"),
        ("select min() from p", "", "needs an argument"),
        ("select ceil()", "", "argument"),
        ("select levenshtein(x) from p", "", "argument"),
        ("select epoch_us()", "epoch_us", "one argument"),
        ("select count(*) from p group by 1", "1", "cannot use an aggregate"),
        ("select count(*), sum(id) over () from p", "", "neither in GROUP BY"),
        ("select count(*), row_number() over (order by id) from p", "", "neither in GROUP BY"),
        ("select sum(id) over (order by id rows between 1 preceding and 1) from p", "1", "PRECEDING"),
        ("select * cross join p", "", ""),
        ("select id from p where id > (select avg(id))", "avg", "the outer query"),
        ("select array_agg(order by id) from p", "", ""),
        ('select id from "p@{soon}"', '"p@{soon}"', "'soon' is not a time"),
        (f"select {9:0>401} from p", f"{9:0>401}", "too large"),
        ("select id from p; select 2", "", "expected one query"),
        ("select id into x from p", "", ""),
        ("select id from a.p", "", "without a schema"),
        ("select 'abc", "", "never closed"),
        ("select cast(id as blob) from p", "id", "there is no cast to BLOB"),
        ("select sum(sum(id)) from p", "sum", "an aggregate cannot be used here"),
        ("select id from p where row_number() over () = 1", "", "QUALIFY"),
        ("select regexp_replace(x, 'a', 'b') from p", "regexp_replace", "'g'"),
    ],
)
def test_a_refusal(text: str, under: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        planned(text, p=MIXED)
    error = caught.value
    assert message in error.message + error.hint
    assert "<class" not in error.message
    if under:
        assert text[error.start : error.start + error.length] == under


@pytest.mark.parametrize(
    "text",
    [
        "copy p to 'x'",
        "attach 'x'",
        "pragma version",
        "set x = 1",
        "insert into p values (1)",
        "drop table p",
        "create table x as select 1",
        "install httpfs",
        "call x()",
        "with x as (delete from p returning *) select * from x",
        "with x as (select 1) insert into p select * from x",
        "select 1; drop table p",
        "explain select 1",
    ],
)
def test_only_queries_are_read(text: str) -> None:
    if is_sql(text):
        with pytest.raises(QueryError):
            planned(text, p=MIXED)


def test_which_language_it_is() -> None:
    assert is_sql("SELECT 1") and is_sql("  -- why\n with x as (select 1) select 1") and is_sql("/* a */select 1")
    assert not any(map(is_sql, ["from p | select a", "selected == 1", "without", "from p", ""]))


def test_errors_show_the_place_in_the_original_text() -> None:
    text = "select idd from p@dev where 'p@x' = 'y' --p@z\n and p@dev.q = 1"
    with pytest.raises(QueryError) as caught:
        planned("select id, nope from p@dev where 'p@x' = 'y'", p=MIXED)
    assert (caught.value.line, caught.value.column) == (1, 12)
    with pytest.raises(QueryError) as caught:
        planned("select id from p@dev as d\nwhere d.nope = 1", p=MIXED)
    assert (caught.value.line, caught.value.column, caught.value.length) == (2, 7, 6)
    with pytest.raises(QueryError):
        planned(text, p=MIXED)


@pytest.mark.parametrize("text", ["select " + "(" * 5_000 + "1" + ")" * 5_000, "select " + "not " * 5_000 + "true"])
def test_deep_nesting_is_an_error(text: str) -> None:
    with pytest.raises(QueryError):
        planned(text, p=MIXED)


@pytest.mark.thorough
def test_a_thousand_conditions_are_not_deep() -> None:
    tests = " or ".join(f"id = {number}" for number in range(2_000))
    assert ids(f"select id from p where {tests}") == [1, 2, 3, 4, 5, 6]


PIECES = re.split(
    r"\s+",
    """select from p where group by having order limit union all with as ( ) , * . id x r.path 1 'a' 1.5 null true
    and or not = <> < in between like is case when then else end count(*) sum(id) lower(x) over partition
    row_number() join on using left exists cast bigint :: interval day distinct qualify @dev : offset
    filter within [ ] - + / % ||""",
)


@pytest.mark.thorough
@given(words=st.lists(st.sampled_from(PIECES), max_size=12))
@settings(max_examples=600, suppress_health_check=list(HealthCheck), deadline=None)
def test_any_text_is_a_plan_or_an_error(words: list[str]) -> None:
    text = " ".join(["select", *words])
    try:
        planned(text, p=MIXED).sql("duckdb")
    except QueryError as error:
        assert 0 <= error.start <= len(text) and error.message
    except KeyError as error:
        assert str(error) not in ("'p'",), text  # an unknown table: the opener says so


def test_rows_kept_as_text_have_no_star() -> None:
    source = ToySource([{"a": 1}, {"b": 2}], body=True)
    with pytest.raises(QueryError, match="too many fields"):
        planned("select * from p", p=source)
