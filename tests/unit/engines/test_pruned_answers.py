"""A query gives the same rows with and without pruning: the same condition beside one that says nothing about the rows
prunes nothing.
"""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lochan.api.queries import run_query
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.pools import snapshot
from lochan.tree.assemble import RangeCut
from lochan.versioning import open_repository
from tests.run import run
from tests.unit.engines.lake import BY_K, query_lake

pytestmark = pytest.mark.thorough

VALUES: list[Any] = [
    *(2**64 - 1, Decimal("0.5000000000000000000001"), Decimal("-33.33333333333333333333"), Decimal("1e400")),
    *(None, True, False, 0, 1, 5, -3, 2**53 + 1, 2**53, 0.5, 5.0, -2.5, 1e300, float(2**53)),
    *("", "a", "ab", "b", "é", "5", "2026-11-01T10:00:00Z", "x" * 80, "x" * 64, "x" * 63 + "y"),
]
LITERALS = [
    *("18446744073709551615", "0.5000000000000000000001", "-33.33333333333333333333", "1e400", "18446744073709551614"),
    *("0", "1", "5", "-3", "0.5", "5.0", "9007199254740993", "9007199254740992", "1e300", "true", "false"),
    *('"a"', '"ab"', '""', '"é"', '"5"', f'"{"x" * 80}"', f'"{"x" * 64}"', "2026-11-01T10:00:00Z"),
]
TRIES = 12


BY_TWO = PoolSettings((PoolKey(("k",)), PoolKey(("s",), descending=True)))


# The test stands outside of the query that reads the rows.
AROUND = [
    "select n from (select * from logs) where {}",
    "select n from (select n, k, s, b from (select b, s, k, n from logs) where n >= 0) where {}",
    "with a as (select * from logs) select n from a where {}",
    "with a as (select * from logs) select n from a where {} union all select n from a where k = 1",
    "select n from (select distinct n, k, s, b.c as c, b from logs) where {}",
    "select n from (select k, s, n, b from logs order by n limit 30) where {}",
    "select n from (select *, count(*) over (partition by k) as several from logs) where {}",
    "select n from (select x.n, y.k, y.s, y.b from logs x left join logs y on x.n = y.n and y.k = 1) where {}",
]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "settings, many_ranges",
    [
        pytest.param(BY_K, False, id="in one range"),
        pytest.param(BY_K, True, id="in many ranges"),
        pytest.param(BY_TWO, True, id="by two keys"),
    ],
)
def test_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: PoolSettings, many_ranges: bool
) -> None:
    chance = random.Random(7)
    if many_ranges:
        monkeypatch.setattr(open_repository, "POOLS", RangeCut(1, 1, 2))
        monkeypatch.setattr(snapshot, "_KEPT", 0)  # each query opens anew what it needs

    def value(narrow: list[Any]) -> Any:
        return chance.choice(narrow if chance.random() < 0.7 else VALUES)

    def row(narrow: list[Any]) -> dict[str, Any]:
        made: dict[str, Any] = {"n": chance.randrange(1_000_000)}
        if chance.random() < 0.9:
            made["k"] = value(narrow)
        if chance.random() < 0.7:
            made["s"] = value(narrow)
        if chance.random() < 0.5:
            made["b"] = {"c": value(narrow)} if chance.random() < 0.8 else value(narrow)
        return made

    def load() -> list[dict[str, Any]]:
        """Often only a few values, so that everything is known about some objects."""
        narrow = chance.sample(VALUES, chance.randrange(1, 4))
        return [row(narrow) for _ in range(chance.randrange(1, 6))]

    def single(literal: Literal) -> str:
        field = chance.choice(["k", "k", "s", "b.c", "n"])
        match chance.randrange(10):
            case 0:
                return f"{field} in {literal.list(chance)}"
            case 1:
                return f"{field} between {literal(chance)} and {literal(chance)}"
            case 2:
                return literal.like(field, chance.choice(["a%", "%", "x%y", "5", "_", "xxx%", ""]))
            case 3 | 4:
                return literal.presence(field, chance)
        return f"{field} {chance.choice(literal.operators)} {literal(chance)}"

    def test(literal: Literal) -> str:
        text = single(literal)
        if chance.random() < 0.4:
            text = f"({text}) {chance.choice(['and', 'or'])} ({single(literal)})"
        return f"not ({text})" if chance.random() < 0.4 else text

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", *(load() for _ in range(12)), settings=settings)
            skipped = 0
            for _ in range(TRIES):
                text = test(PIPE)
                text = f"k == {PIPE(chance)} and ({text})" if settings == BY_TWO and chance.random() < 0.5 else text
                sql = test(SQL)
                around = chance.choice(AROUND)
                for query, unpruned in (
                    (f"from logs | where {text} | cut n", f"from logs | where ({text}) or n == n + 1 | cut n"),
                    (f"select n from logs where {sql}", f"select n from logs where ({sql}) or n = n + 1"),
                    (around.format(sql), around.format(f"({sql}) or n = n + 1")),
                ):
                    with await run_query(lake.lake, query) as result:
                        found = list(result.rows())
                    skipped += sum(each.objects for each in result.stats.skipped)
                    with await run_query(lake.lake, unpruned) as result:
                        all = list(result.rows())
                    assert not result.stats.skipped
                    assert sorted(map(str, found)) == sorted(map(str, all)), query
            assert skipped > 2 * TRIES  # or nothing was tested
            whole = await lake.rows("from logs | cut k")
            for count in (1, 2, 5, 9, 100):
                found = await lake.rows(f"from logs | head {count} | cut k")
                assert [row.get("k") for row in found] == [row.get("k") for row in whole[:count]]  # null or missing
            for low, high in (("0", "5"), ("0.5", "9007199254740992"), ('"a"', '"b"')):
                found = await lake.rows(f"from logs range {low} to {high} | cut n")
                whole_key = " and has(s) and s != null" if settings == BY_TWO else ""
                all = await lake.rows(f"from logs | k >= {low} and k <= {high}{whole_key} or n == n + 1 | cut n")
                assert sorted(map(str, found)) == sorted(map(str, all)), low

    run(play())


class Literal(NamedTuple):
    """The notation of one of the languages."""

    literals: list[str]
    operators: list[str]
    brackets: str
    presences: list[str]

    def __call__(self, chance: random.Random) -> str:
        return chance.choice(self.literals)

    def list(self, chance: random.Random) -> str:
        return f"{self.brackets[0]}{self(chance)}, {self(chance)}{self.brackets[1]}"

    def like(self, field: str, pattern: str) -> str:
        quote = '"' if self.brackets == "[]" else "'"
        return f"{field} like {quote}{pattern}{quote}"

    def presence(self, field: str, chance: random.Random) -> str:
        return chance.choice(self.presences).format(field)


OPERATORS = ["<", "<=", ">", ">="]
PIPE = Literal(
    [*LITERALS, "2 + 3", 'int64("5")', "float64(5)", 'time("2026-11-01T11:00:00Z") - 1h'],
    ["==", "==", "!=", *OPERATORS],
    "[]",
    ["{} == null", "missing({})", "has({})", "{} != null", "{}"],
)
SQL = Literal(
    [*(each.replace('"', "'") for each in LITERALS[:-1]), "2 + 3", "cast('5' as int)", "'2026-11-01T10:00:00Z'"],
    ["=", "=", "<>", *OPERATORS],
    "()",
    ["{} is null", "{} is not null", "{} is true"],
)


DAYS: list[list[dict[str, Any]]] = [
    [{"k": 1, "s": "apple", "t": "2026-11-01T10:00:00Z", "x": 1}, {"k": 9, "s": "fig", "t": "2026-11-01T11:00:00Z"}],
    [{"k": 10, "s": "kiwi", "t": "2026-11-02T10:00:00Z", "x": None}, {"k": 19, "s": "lime", "x": None}],
    [{"k": 20, "s": "pear", "t": "2026-11-03T10:00:00Z"}, {"k": 29, "s": "plum", "t": "2026-11-03T11:00:00Z"}],
    [{"k": 30, "s": 7, "x": 5, "ok": True}, {"k": 39, "s": 8.5, "x": 6, "ok": True}],
]
OPENED = [
    ("x == null", "x is null", 1, 3),
    ("missing(x)", "", 2, 0),
    ("x != null", "x is not null", 2, 2),
    ("not (k >= 10)", "not (k >= 10)", 1, 1),
    ("not (k between 10 and 40)", "k not between 10 and 40", 1, 1),
    ("not (k in [1, 2])", "k not in (1, 2)", 4, 4),
    ("k in [1, 2]", "k in (1, 2)", 1, 1),
    ("k == 1 or k == 35", "k = 1 or k = 35", 2, 2),
    ('s like "a%"', "s like 'a%'", 1, 1),
    ('not (s like "%")', "s not like '%'", 1, 1),
    ("k == 4 + 5", "k = 4 + 5", 1, 1),
    ('k == int64("9")', "k = cast('9' as int)", 1, 1),
    ("k == 9.0", "k = 9.0", 1, 1),
    ("t > 2026-11-02T12:00:00Z", "t > '2026-11-02T12:00:00Z'", 1, 1),
    ('t > time("2026-11-02 12:00")', "t > timestamp '2026-11-02 12:00:00'", 1, 1),
    ("t > 2026-11-02T12:00:00Z - 1h", "t > timestamp '2026-11-02 12:00:00' - interval 1 hour", 1, 1),
    ("t < now() - 300000h", "t < now() - interval 300000 hour", 0, 0),  # some 34 years
    (
        "t between 2026-11-02T00:00:00Z and 2026-11-02T23:00:00Z",
        "t between '2026-11-02T00:00:00Z' and '2026-11-02T23:00:00Z'",
        1,
        1,
    ),
    ("", "t >= cast('2026-11-02T12:00' as date) and t < cast('2026-11-03' as date)", 0, 2),
    ("where ok", "ok", 1, 1),
    ("where not ok", "not ok", 0, 0),
    ("k == null", "k is null", 0, 0),
]


@pytest.mark.thorough
def test_objects_that_are_opened(tmp_path: Path) -> None:
    """In either language; and a `*` opens no more."""

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", *DAYS, settings=PoolSettings(BY_K.keys, times=(("t",),)))
            for pipe, sql, by_pipe, by_sql in OPENED:
                expected = {f"from logs | {pipe}": by_pipe} if pipe else {}
                if sql:
                    expected |= {f"select {shown} from logs where {sql}": by_sql for shown in ("k", "*")}
                for text, count in expected.items():
                    with await run_query(lake.lake, text) as result:
                        list(result.rows())
                    assert result.stats.objects_read == count, (text, result.stats.skipped)

    run(play())


@pytest.mark.thorough
def test_fields_of_what_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A field that only rows have which need not be read is known; of one that none has there is a warning."""
    monkeypatch.setattr(open_repository, "POOLS", RangeCut(1, 1, 1))  # a range for each object

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", [{"k": 1, "a": 1}], [{"k": 2, "b": 2}], [{"k": 3, "c": 3}])
            for rest in ("k == 1", "head 1", "k > 100", "k == 1 | head 1"):
                found = [{"b": 5}] if "100" not in rest else []
                assert await lake.rows(f"from logs | {rest} | put b:=coalesce(b, 5) | cut b") == found
                with await run_query(lake.lake, f"from logs | {rest} | cut d") as result:
                    assert "unknown field `d`" in result.warnings[0]
                with await run_query(lake.lake, f"from logs | {rest} | cut b") as result:
                    assert result.warnings == []
            assert await lake.rows("select * from logs where k = 2") == [{"k": 2, "a": None, "b": 2, "c": None}]

    run(play())


@pytest.mark.parametrize(
    "sql, opened",
    [
        ("select n from (select * from logs) where k = 3", 1),
        ("with a as (select k as z, n from logs) select n from a where z between 3 and 4", 2),
        ("with a as (select k, n from logs) select n from a where k = 1 union all select n from a where k = 8", 2),
        ("select n from (select n from logs) limit 1", 1),
        ("select n from (select k, n from logs limit 100) where k = 3", 12),
        ("select c from (select k, count(*) as c from logs group by k) where k = 3", 12),
    ],
)
def test_objects_that_are_opened_below_a_test(tmp_path: Path, sql: str, opened: int) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", *([{"k": k, "n": k}] for k in range(12)), settings=BY_K)
            with await run_query(lake.lake, sql) as result:
                assert list(result.rows())
            assert 12 - sum(each.objects for each in result.stats.skipped) == opened

    run(play())
