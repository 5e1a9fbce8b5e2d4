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
from lochan.engines.explain import explain
from lochan.engines.run_query import RunOptions
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.lake import Lake
from lochan.pools import snapshot
from lochan.query.errors import QueryError
from lochan.store.local import LocalStore
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


# Of 12 objects with the keys 0 to 11; `others` has the same rows in other objects, all of which are opened.
BELOW = [
    ("select n from (select * from logs) where k = 3", 1),
    ("with a as (select k as z, n from logs) select n from a where z between 3 and 4", 2),
    ("with a as (select k, n from logs) select n from a where k = 1 union all select n from a where k = 8", 2),
    ("with a as (select k, n from logs), b as (select * from a where n < 9) select n from b where k > 6", 2),
    ("with a as (select * from logs) select x.n from a x join a y on x.n = y.n where x.k = 1 and y.k = 1", 1),
    ("select n from (select n from logs) limit 1", 1),
    ("select n from (select k, n from logs limit 100) where k = 3", 12),
    ("select n from (select k, n from logs order by n) where k = 3", 1),
    # groups
    ("select c from (select k, count(*) as c from logs group by k) where k = 3", 1),
    ("select k, count(*) from logs group by k having k in (3, 5)", 2),
    ("select k, count(*) from logs group by k having k = 3 or count(*) > 0", 12),
    ("select k, count(*) from logs group by k having k = 3 and max(n) < 9", 1),
    ("select m from (select max(k) as m from logs) where m = 11", 12),
    ("select m from (select n, max(k) as m from logs group by n) where m = 3", 12),
    ("select k from (select distinct k from logs) where k = 3", 1),
    # windows
    ("select r from (select k, rank() over (partition by k order by n) as r from logs) where k = 3", 1),
    ("select r from (select k, n, rank() over (partition by n order by k) as r from logs) where k = 3", 12),
    (
        "select r, z from (select k, rank() over (partition by k) r, sum(n) over () z from logs) where k = 3",
        12,
    ),
    ("select r from (select k, rank() over (order by n) as r from logs) where k = 3", 12),
    ("select n from (select k, n from logs qualify row_number() over (order by n) < 9) where k = 3", 12),
    # joins
    ("select o.n from others o join (select k, n from logs) d on o.n = d.n where d.k = 3", 1),
    ("select o.n from others o join logs l on o.n = l.n and l.k = 3", 1),
    ("select o.n from others o left join logs l on o.n = l.n and l.k = 3", 1),
    ("select l.n from logs l left join others o on o.n = l.n and l.k = 3", 12),
    ("select l.n from logs l left join others o on o.n = l.n where l.k = 3", 1),
    ("select o.n from others o left join logs l on o.n = l.n where l.k = 3", 12),
    ("select o.n from others o left join logs l on o.n = l.n where l.k is null or l.k = 3", 12),
    ("select l.n from others o right join logs l on o.n = l.n where l.k = 3", 1),
    ("select l.n from others o right join logs l on o.n = l.n and l.k = 3", 12),
    ("select o.n from logs l right join others o on o.n = l.n and l.k = 3", 1),
    ("select o.n from logs l right join others o on o.n = l.n where l.k = 3", 12),
    ("select l.n from logs l full join others o on o.n = l.n and l.k = 3 where l.k = 3", 12),
    ("select o.n from others o semi join logs l on o.n = l.n and l.k = 3", 1),
    ("select o.n from others o anti join logs l on o.n = l.n and l.k = 3", 1),
    ("select l.n from logs l anti join (select n from others where n > 5) o on o.n = l.n where l.k = 3", 1),
    ("select l.n from logs l anti join (select n from others where n > 5) o on o.n = l.n and l.k = 3", 12),
    ("select o.n from others o left join logs l on o.n = l.n join others p on p.n = o.n and l.k = 3", 12),
    # set operations
    ("select n from (select k, n from logs union all select n, n from others) where k = 3", 1),
    ("select n from (select k, n from logs union all select * from logs) where k = 3", 2),
    ("select n from (select k, n from logs union select n, n from others limit 50) where k = 3", 12),
    ("select n from (select k, n from logs intersect select n, n from others) where k = 3", 1),
    ("select n from (select n, n as m from others except select k, n from logs where k > 3) where n = 3", 0),
    # subqueries in expressions
    ("select n from others where n in (select n from (select * from logs) where k = 3)", 1),
    ("select n from others o where exists (select 1 from (select * from logs) d where d.k = 3 and d.n = o.n)", 1),
    ("select n from others o where exists (select 1 from logs l where l.k = o.n)", 12),
    ("select n from others o where n = (select max(n) from (select * from logs) where k = 3)", 1),
    (
        "select n from others where n in (select n from logs l where l.k = 3) or n in (select n from logs where k = 4)",
        2,
    ),
    # stars
    ("select n from (select *, 1 as more from logs) where k = 3", 1),
    ("select n from (select * exclude (n), n from logs) where k = 3", 1),
    ("select n from (select l.*, o.n as m from logs l join others o on l.n = o.n) where k = 3", 1),
    ("select d.n from (select k, n from logs) as d(z, n) where d.z = 3", 1),
    # pipes
    ("from logs | union (from others) | k == 3", 1),
    ("from logs | cut z := k, n | union (from others) | z == 3", 1),
    ("from logs, others | sort n | k == 3", 1),
    ("from logs | fork (=> put s := 1 => put s := 2) | k == 3", 1),
    ("from logs | fork (=> k == 4 => k == 3)", 2),
    ("from logs | switch (case n > 1 => put s := 1 default => put s := 2) | k == 3", 1),
    ("from logs | join (from others | cut n, m := n) on n | k == 3", 1),
    ("from logs | left join (from others | cut n, m := n) on n | k == 3", 1),
    ("from others | join (from logs | cut n, z := k) on n | z == 3", 1),
    ("from others | left join (from logs | cut n, z := k) on n | z == 3", 12),
    ("from others | anti join (from logs | k > 3) on n", 8),
    ("from logs | count() by k | k == 3", 1),
    ("from logs | count() by k | count == 1", 12),
    ("from logs | head 100 | k == 3", 12),
    ("from logs | tail 100 | k == 3", 12),
    ("from logs | top 100 n | k == 3", 12),
    ("from logs | uniq | k == 3", 12),
    ("from logs | k := max(k) | k == 11", 12),
    ("from logs | put k := n + 0 | k == 3", 12),
]


@pytest.mark.parametrize("text, opened", BELOW)
def test_objects_that_are_opened_below_a_test(lake_of_twelve: Path, text: str, opened: int) -> None:
    async def play() -> None:
        lake = await Lake.open(LocalStore(str(lake_of_twelve)))
        try:
            explained = await explain(lake.queries(), text, RunOptions())
            of_logs = [each for each in explained["sources"] if each["pools"][0]["name"] == "logs"]
            with await run_query(lake, text) as result:
                assert list(result.rows()) or opened == 0
            assert sum(each["objects_read"] for each in of_logs) == opened
        finally:
            await lake.close()

    run(play())


@pytest.fixture(scope="module")
def lake_of_twelve(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("twelve")

    async def make() -> None:
        async with query_lake(folder) as lake:
            for name in ("logs", "others"):
                await lake.pool(name, *([{"k": k, "n": k}] for k in range(12)), settings=BY_K)

    run(make())
    return folder / "lake"


@pytest.mark.parametrize(
    "sql, rows",
    [
        ("select a.n from a where exists (select 1 from b where b.k = 1 and x = 3)", []),
        ("select a.n from a where exists (select 1 from b where b.k = 2 and x = 3)", [{"n": 1}, {"n": 2}]),
        ("select n as x, k from b where k = 1 qualify x = 1", []),
        ("select -n as x, k from b where k >= 1 order by x", [{"x": -2, "k": 2}, {"x": -1, "k": 1}]),
        ("select n as x, count(*) as c from b where k = 1 group by x", [{"x": 1, "c": 1}]),
        ("select n from tree where tree.z = 3", [{"n": 1}]),
        ("select n from (select * from tree) tree where tree.z = 3", [{"n": 1}]),
        ("select n from tree t where t.z = 3", []),
    ],
)
def test_a_name_means_the_same_whatever_is_opened(tmp_path: Path, sql: str, rows: list[Any]) -> None:
    """Of `b`, the objects with the key 1 have no `x`; a row of `tree` has a field of this name."""

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("a", [{"k": 1, "x": 3, "n": 1}], [{"k": 2, "x": 3, "n": 2}])
            await lake.pool("b", [{"k": 1, "n": 1}], [{"k": 2, "x": 3, "n": 2}])
            await lake.pool("tree", [{"k": 1, "n": 1, "tree": {"z": 3}}], [{"k": 2, "n": 2}])
            assert await lake.rows(sql) == rows
            with pytest.raises(QueryError, match="several tables"):
                await lake.rows("select x from a join b on a.n = b.n where b.k = 1")

    run(play())
