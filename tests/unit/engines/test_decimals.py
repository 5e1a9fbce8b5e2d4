"""Numbers of many digits on a lake: found, sorted, added and pruned by their decimals, and kept by everything that
rewrites objects.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lochan.api.queries import run_query
from lochan.engines.duckdb.delete import delete_where
from lochan.engines.explain import explain
from lochan.engines.run_query import RunOptions
from lochan.errors import Refused
from lochan.jobs.compaction import compact
from tests.run import run
from tests.unit.engines.lake import ANN, QueryLake, query_lake

U64, LONG = 18446744073709551615, Decimal("33.33333333333333333333")
ROWS: list[list[dict[str, Any]]] = [
    [{"k": 1, "x": 10.5, "u": 7}, {"k": 2, "x": LONG, "u": U64}],
    [{"k": 3, "x": 20, "u": 9}, {"k": 4, "x": Decimal("1234567890123456.125"), "u": U64 - 1}],
    [{"k": 5, "x": Decimal("-0.1000000000000000055"), "u": 8}, {"k": 6, "x": "text"}],
]


def on_lake(folder: Path, play: Callable[[QueryLake], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with query_lake(folder) as lake:
            await lake.pool("logs", *ROWS)
            await play(lake)

    run(whole())


@pytest.mark.thorough
@pytest.mark.parametrize(
    "query, expected",
    [
        ("from logs | x > 30 | cut k", [2, 4]),
        ("from logs | x <= 10.5 | cut k", [1, 5]),
        ("from logs | x == 33.33333333333333333333 | cut k", [2]),
        ("from logs | u > 8 | cut k", [2, 3, 4]),
        ("from logs | u >= 18446744073709551614.5 | cut k", [2]),
        ("from logs | u in [8, 18446744073709551614] | cut k", [4, 5]),
        ("from logs | where x < 100 | sort -r x | cut k", [2, 3, 1, 5]),
        ("from logs | sort u | cut k", [1, 5, 3, 4, 2, 6]),
        ("from logs | where k < 6 | sort x | cut k", [5, 1, 3, 2, 4]),
        ("select k from logs where x > 20 order by x", [2, 4]),
        ("select k from logs where u > x order by u", [5, 4, 2]),
        ("select k from (select k, u from logs) where u > 9 order by u desc", [2, 4]),
    ],
)
def test_rows_by_their_numbers(query: str, expected: list[int], tmp_path: Path) -> None:
    async def play(lake: QueryLake) -> None:
        assert [row["k"] for row in await lake.rows(query)] == expected

    on_lake(tmp_path, play)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "query, expected",
    [
        ("from logs | sum(u)", {"sum": 2 * U64 - 1 + 24}),
        ("from logs | where k < 6 | sum(x)", {"sum": Decimal("1234567890123519.85833333333333332783")}),
        ("from logs | where k < 5 | min(u), max(u)", {"min": 7, "max": U64}),
        ("from logs | where k < 6 | min(x), max(x)", {"min": ROWS[2][0]["x"], "max": ROWS[1][1]["x"]}),
        ("from logs | dcount(u), dcount(x)", {"dcount": 5, "dcount_1": 6}),
        ("select avg(u) as a from logs where u > 9", {"a": float(U64)}),
    ],
)
def test_aggregates_are_exact(query: str, expected: dict[str, Any], tmp_path: Path) -> None:
    async def play(lake: QueryLake) -> None:
        assert await lake.rows(query) == [expected]

    on_lake(tmp_path, play)


@pytest.mark.thorough
@pytest.mark.parametrize("group", ["from logs | count() by x", "select x, count(*) as count from logs group by x"])
def test_the_same_number_is_one_group_however_it_is_written(group: str, tmp_path: Path) -> None:
    async def play(lake: QueryLake) -> None:
        await lake.load("logs", [{"k": 7, "x": Decimal("33.333333333333333333330")}])
        counts = {row["x"]: row["count"] for row in await lake.rows(group)}
        assert counts[LONG] == 2

    on_lake(tmp_path, play)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "query, objects",
    [
        ("from logs | x > 1000", 1),
        ("from logs | x < 0", 1),
        ("from logs | x == 33.33333333333333333333", 1),
        ("from logs | u > 18446744073709551614", 1),
        ("select * from logs where u > 18446744073709551614", 1),
        ("from logs | x > 1000000000000000000000", 0),
    ],
)
def test_objects_are_left_out_by_their_decimals(query: str, objects: int, tmp_path: Path) -> None:
    async def play(lake: QueryLake) -> None:
        plan = await explain(lake.lake.queries(), query, RunOptions(actor=ANN))
        assert sum(source["objects_read"] for source in plan["sources"]) == objects

    on_lake(tmp_path, play)


PRICES = pa.table({"k": range(10), "price": pa.array([Decimal("0.10")] * 9 + [None], pa.decimal128(10, 2))})


@pytest.mark.thorough
def test_decimals_of_a_table_do_not_become_floats(tmp_path: Path) -> None:
    async def play(lake: QueryLake) -> None:
        await lake.pool("prices", PRICES)
        assert await lake.rows("from prices | sum(price)") == [{"sum": 0.9}]  # not 0.8999999999999999
        assert await lake.rows("select sum(price * 3) as s from prices") == [{"s": 2.7}]
        with await run_query(lake.lake, "from prices | head 1", RunOptions(actor=ANN)) as result:
            assert b"".join(result.ndjson()) == b'{"k":0,"price":0.10}\n'
        assert await lake.rows("from prices | price == 0.1 | count()") == [{"count": 9}]
        await lake.load("prices", [{"k": 20, "price": 0.1}, {"k": 21, "price": 1, "ten": Decimal("1e-1")}])
        among = "select k from prices where {} in (select price from prices where k {}) order by k"
        assert [row["k"] for row in await lake.rows(among.format("price", "= 0"))] == [*range(9), 20]
        assert [row["k"] for row in await lake.rows(among.format("price", "= 20"))] == [*range(9), 20]
        assert [row["k"] for row in await lake.rows(among.format("price * 10", "= 21"))] == [*range(9), 20]

    on_lake(tmp_path, play)


@pytest.mark.thorough
def test_typed_columns_have_decimals(tmp_path: Path) -> None:
    async def play(lake: QueryLake) -> None:
        await lake.pool("prices", PRICES)
        with await run_query(lake.lake, "from prices | cut price, more:=price*2", RunOptions(actor=ANN)) as result:
            table = result.to_arrow()
        assert table["price"].to_pylist() == PRICES["price"].to_pylist()
        assert table["more"].to_pylist() == [Decimal("0.20")] * 9 + [None]

    on_lake(tmp_path, play)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "value, expected",
    [
        ("u * 2", 2 * U64),
        ("u + k", U64 + 2),
        ("u - 1", U64 - 1),
        ("1 - u", 1 - U64),
        ("u * 0.5", Decimal(U64) / 2),
        ("x * 3", Decimal("99.99999999999999999999")),
        ("x + x", Decimal("66.66666666666666666666")),
        ("round(x)", 33),
        ("round(x, 2)", 33.33),
        ("ceil(x)", 34),
        ("floor(-x)", -34),
        ("u % 10", 5),
        ("-u % 2.5", 0),
        ("x % 0.1", Decimal("0.03333333333333333333")),
        ("k % u", 2),
        ("u / 2", 2.0**63),
        ("x / 4", float(LONG) / 4),
        ("u / x", U64 / float(LONG)),
    ],
)
def test_arithmetic_is_exact(value: str, expected: Any, tmp_path: Path) -> None:
    async def play(lake: QueryLake) -> None:
        assert await lake.rows(f"from logs | k == 2 | cut y:={value}") == [{"y": expected}]
        assert await lake.rows(f"select {value} as y from logs where k = 2") == [{"y": expected}]
        assert await lake.rows(f"from logs | k == 2 | where {value} == {expected} | count()") == [{"count": 1}]

    on_lake(tmp_path, play)


@pytest.mark.parametrize("value, expected", [("u * float64(x)", U64 * float(LONG)), ("float64(k) - u", -(2.0**64))])
@pytest.mark.thorough
def test_with_a_float_of_a_row_it_is_a_float(value: str, expected: float, tmp_path: Path) -> None:
    async def play(lake: QueryLake) -> None:
        assert await lake.rows(f"from logs | k == 2 | cut y:={value}") == [{"y": expected}]

    on_lake(tmp_path, play)


@pytest.mark.thorough
@pytest.mark.parametrize("value", ["u * u", "x * k", "u % x", "u % float64(k)"])
def test_what_no_decimal_holds_is_refused(value: str, tmp_path: Path) -> None:
    async def play(lake: QueryLake) -> None:
        with pytest.raises(Refused, match="does not work with a number of so many digits"):
            await lake.rows(f"from logs | cut y:={value}")

    on_lake(tmp_path, play)


@pytest.mark.thorough
def test_rewritten_objects_have_them_too(tmp_path: Path) -> None:
    async def play(lake: QueryLake) -> None:
        repository = await lake.lake.open_repository("logs")
        files = lake.lake.queries().files
        await compact(repository, "main", lake.lake.queries(), actor=ANN)
        [file] = await lake.files("logs")
        assert pq.read_schema(file).field("x#d").type.scale == 20
        await delete_where(repository, "main", "u == 18446744073709551615", files, actor=ANN)
        await repository.close()
        [file] = await lake.files("logs")
        assert pq.read_schema(file).field("x#d").type.scale == 19
        assert await lake.rows("from logs | max(u)") == [{"max": U64 - 1}]

    on_lake(tmp_path, play)


@pytest.mark.thorough
def test_objects_that_no_one_decimal_holds_are_read_by_their_texts(tmp_path: Path) -> None:
    async def play(lake: QueryLake) -> None:
        great, small = Decimal("9" * 30), Decimal("0." + "1" * 20)
        await lake.load("logs", [{"k": 7, "x": great}])
        await lake.load("logs", [{"k": 8, "x": small}, {"k": 9, "x": Decimal("-1e400")}])
        assert [row["k"] for row in await lake.rows("from logs | x < 10 | sort x | cut k")] == [9, 5, 8]
        assert [row["k"] for row in await lake.rows("from logs | x > 10000000000000000 | cut k")] == [7]

    on_lake(tmp_path, play)


KEYS: list[list[dict[str, Any]]] = [
    [{"k": U64, "n": 6}, {"k": 3, "n": 2}],
    [{"k": Decimal("2.5000000000000000000001"), "n": 1}, {"k": 5.5, "n": 3}],
    [{"k": U64 - 1, "n": 5}, {"k": 7, "n": 4}],
]


@pytest.mark.thorough
def test_keys_of_many_digits_have_their_place(tmp_path: Path) -> None:
    async def answers(lake: QueryLake, ends: list[int]) -> None:
        for query, expected in (
            ("from keyed", [*ends, 1, 2, 3, 4, 5, 6]),
            ("from keyed | head 2", [*ends, 1, 2][:2]),
            ("from keyed range 3 to 18446744073709551614", [2, 3, 4, 5]),
            ("from keyed range 2.5 to 3", [1, 2]),
            ("from keyed | k > 5", [3, 4, 5, 6]),
            ("from keyed | k == 18446744073709551615", [6]),
        ):
            assert [row["n"] for row in await lake.rows(query)] == expected, query

    async def play(lake: QueryLake) -> None:
        await lake.pool("keyed", *KEYS)
        await answers(lake, [])
        repository = await lake.lake.open_repository("keyed")
        files = lake.lake.queries().files
        await compact(repository, "main", lake.lake.queries(), actor=ANN)
        await answers(lake, [])
        await lake.load("keyed", [{"k": Decimal("-1e400"), "n": 0}])  # beside it the texts are read
        await answers(lake, [0])
        await delete_where(repository, "main", "k >= 18446744073709551615", files, actor=ANN)
        await repository.close()
        assert [row["n"] for row in await lake.rows("from keyed")] == [0, 1, 2, 3, 4, 5]

    on_lake(tmp_path, play)
