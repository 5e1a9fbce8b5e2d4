"""Which columns of its tables a query reads: those that something around it uses."""

import pytest

from lochan.query.sql.query import read
from tests.unit.query.toy_source import ToySource

ROWS = [{"k": 1, "a": 3, "b": 1, "c": "x"}, {"k": 2, "a": 2, "b": 3, "c": "y"}]


@pytest.mark.parametrize(
    "sql, columns",
    [
        ("select a from (select * from logs)", "a"),
        ("select a from (select * from (select * from logs) where b = 1)", "ab"),
        ("with w as (select * from logs) select a from w", "a"),
        ("with w as (select * from logs) select x.a, y.b from w x join w y on x.k = y.k", "abk"),
        ("with w as (select * from logs), v as (select a, b from w) select a from v", "a"),
        ("select a from (select * from logs union all select * from logs)", "a"),
        ("select a from (select * from logs union select * from logs)", "abck"),
        ("select a from (select distinct a, b from logs)", "ab"),
        ("select a from (select a, k, c from logs order by b limit 1)", "abck"),
        ("select a from (select a, max(b) as m from logs group by a)", "a"),
        ("select count(*) from (select * from logs)", ""),
        ("select count(*) from (select max(a) as m, min(b) as n from logs)", "a"),
        ("select a from (select * from logs qualify row_number() over (order by b) = 1)", "ab"),
        ("select a from (select *, sum(b) over () as t from logs) where t > 1", "ab"),
        ("select 1 from (select 1) where exists (select * from logs where a = 3)", "a"),
        ("select * from (select a, b from logs)", "ab"),
    ],
)
def test_columns_that_are_read(sql: str, columns: str) -> None:
    source = ToySource(ROWS)
    read(sql).plan(lambda _: source)
    asked = {leaf.column.partition(":")[0] for request in source.request for leaf in request.leaves}
    assert asked == set(columns)
