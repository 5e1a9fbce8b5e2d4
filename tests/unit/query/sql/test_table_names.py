"""Names of tables that plain SQL accepts only in quotes, and where Lochan accepts them without."""

import pytest
from sqlglot import exp

from lochan.query.errors import QueryError
from lochan.query.sql.parse import parse_query


def tables(text: str) -> list[str]:
    _, tree = parse_query(text)
    return sorted(table.name for table in tree.find_all(exp.Table))


@pytest.mark.parametrize(
    "text, names",
    [
        pytest.param("select * from my-pool", ["my-pool"], id="at the end"),
        pytest.param("select * from my-pool p where p.a-1 > 2", ["my-pool"], id="with a short name"),
        pytest.param("select * from logs, web-logs-2026, x", ["logs", "web-logs-2026", "x"], id="one of several"),
        pytest.param("select * from 2026-logs join a-b using (k)", ["2026-logs", "a-b"], id="joined"),
        pytest.param("select * from (select * from a-b) t", ["a-b"], id="within"),
        pytest.param("with s as (select * from a-b) select * from s", ["a-b", "s"], id="in a WITH"),
        pytest.param("select * from a-b@dev, c-d", ["a-b@dev", "c-d"], id="beside a ref"),
        pytest.param("select * from logs-*", ["logs-*"], id="a pattern"),
        pytest.param("select * from web-logs.$nokey", ["web-logs.$nokey"], id="without the key"),
        pytest.param("select * from a-b -- from c-d\nwhere x = 'from e-f'", ["a-b"], id="not in texts"),
    ],
)
def test_a_name_with_dashes_is_a_table_s(text: str, names: list[str]) -> None:
    assert tables(text) == names


def test_a_difference_stays_one() -> None:
    text = "select extract(epoch from a-b), c-d from my-pool where e is distinct from f-g"
    _, tree = parse_query(text)
    assert sorted(each.sql() for each in tree.find_all(exp.Sub)) == ["a - b", "c - d", "f - g"]
    assert tables(text) == ["my-pool"]


def test_places_are_those_of_the_text() -> None:
    with pytest.raises(QueryError) as caught:
        parse_query("select * from my-pool, other-pool where )")
    assert (caught.value.start, caught.value.message) == (40, "something is missing after `)`")
    with pytest.raises(QueryError, match="`-` was not expected here"):
        parse_query("select * from a - b")
