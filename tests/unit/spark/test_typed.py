"""Rows of any shape as columns of a frame, through the embedded engine, as a task of the data source gives them."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from lochan.connection import LakeAddress, spark_lake
from lochan.engines.spark.frames.read_plan import ReadRequest, plan
from lochan.engines.spark.frames.typed_columns import select_list
from lochan.errors import Invalid, Refused
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.query.errors import QueryError
from lochan.spark.source import PartsReader
from lochan.versioning.uri import prefix_uri
from tests.run import run
from tests.unit.engines.lake import query_lake

TIMES = PoolSettings((PoolKey(("k",)),), times=(("day",), ("at",)))
EXACT = Decimal("0.12345678901234567891"), Decimal("12345678901234567.25")
LONG: dict[str, Any] = {"exact": EXACT[0], "wide": EXACT[0]}  # in another object, and of another scale
ROWS: list[dict[str, Any]] = [
    {"k": 1, "day": "1969-12-31", "at": "2026-11-01T10:00:00Z", "mixed": 1, "n": 2**53, "o": {"a": 1, "b": "s"}},
    {"k": 2, "day": "2026-11-01", "at": "soon", "mixed": "text", "n": 0.5, "o": {"a": "x"}, "l": [], **LONG},
    {"k": 3, "day": None, "mixed": 1.5, "o": {}, "l": [{"p": 1}], "empty": {}, "nothing": None},
    {"k": 4, "mixed": [1, "a"], "big": 2**70, "exact": EXACT[1], "wide": 2**70},
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> LakeAddress:
    folder: Path = tmp_path_factory.mktemp("lake")

    async def made() -> None:
        async with query_lake(folder) as lake:
            await lake.pool("odd", ROWS[:2], ROWS[2:], settings=TIMES)
            await lake.pool("bodies", [{"k": n, f"f{n}": n} for n in range(1_100)])

    run(made())
    return spark_lake(folder / "lake")


def table(place: LakeAddress, **options: Any) -> pa.Table:
    with place.connect() as lake:
        parts = lake.frames.parts(options.pop("pool", "odd"), **options)
    reader = PartsReader(parts, parts.schema)
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    return pa.Table.from_batches(batches, to_arrow_schema(parts.schema))


BIG = 9007199254740993  # no double is this number; the one below it is one


@pytest.mark.thorough
@pytest.mark.parametrize(
    "values, found",
    [
        pytest.param([BIG, BIG - 1, 1.5], [Decimal(BIG), Decimal(BIG - 1), Decimal("1.5")], id="decimals"),
        pytest.param([-BIG, 0.1], [Decimal(-BIG), Decimal("0.1")], id="below zero"),
        pytest.param([(1 << 63) - 1, 5e-19], [Decimal((1 << 63) - 1), Decimal("5e-19")], id="all digits there are"),
        pytest.param([BIG - 1, 1.5], [9007199254740992.0, 1.5], id="doubles hold them"),
        pytest.param([1, 1e300], [1.0, 1e300], id="a large float"),
        pytest.param([BIG, 1e300], "no double is exactly this int", id="a large float beside a large int"),
        pytest.param([BIG, 1e-20], "does not hold this float.*: 1e-20", id="a float of too many digits"),
    ],
)
def test_ints_beside_floats_are_never_rounded(tmp_path: Path, values: list[Any], found: list[Any] | str) -> None:
    """At the top of a row, and inside of an object."""
    rows = [{"k": number, "id": value, "o": {"id": value}} for number, value in enumerate(values)]

    async def made() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool", *([row] for row in rows))

    run(made())
    place = spark_lake(tmp_path / "lake")
    if isinstance(found, str):
        with pytest.raises(Refused, match=found):
            table(place, pool="pool")
        return
    read = table(place, pool="pool").sort_by("k")
    assert read["id"].to_pylist() == found
    assert [each["id"] for each in read["o"].to_pylist()] == found
    some = table(place, pool="pool", where="k > 0")  # whichever rows are asked for
    assert some.schema == read.schema


@pytest.mark.thorough
def test_each_field_has_one_type(place: LakeAddress) -> None:
    found = table(place).sort_by("k")
    assert {each.name: str(each.type) for each in found.schema} == {
        "k": "int64",
        "day": "date32[day]",
        "at": "string",
        "mixed": "string",
        "n": "double",
        "o": "struct<a: string, b: string>",
        "l": "list<element: struct<p: int64>>",
        "empty": "string",
        "nothing": "string",
        "big": "decimal128(38, 0)",
        "exact": "decimal128(38, 20)",
        "wide": "string",  # no decimal holds both
    }
    columns = found.to_pydict()
    assert columns["day"] == [date(1969, 12, 31), date(2026, 11, 1), None, None]
    assert columns["at"] == ['"2026-11-01T10:00:00Z"', '"soon"', None, None]
    assert columns["mixed"] == ["1", '"text"', "1.5", '[1,"a"]']
    assert columns["n"] == [2.0**53, 0.5, None, None]
    assert columns["o"] == [{"a": "1", "b": "s"}, {"a": '"x"', "b": None}, {"a": None, "b": None}, None]
    assert columns["l"] == [None, [], [{"p": 1}], None]
    assert columns["empty"] == [None, None, "{}", None]
    assert columns["big"] == [None, None, None, Decimal(2**70)]
    assert columns["exact"] == [None, EXACT[0], None, EXACT[1]]
    assert columns["wide"] == [None, str(EXACT[0]), None, str(2**70)]


@pytest.mark.thorough
def test_columns_do_not_depend_on_the_rows_that_are_asked_for(place: LakeAddress) -> None:
    every = table(place)
    assert table(place, where="k == 1").schema == every.schema
    assert table(place, where="k > 99").schema == every.schema
    some = table(place, where="k >= 2", columns=("k", "o.a"))
    assert some.sort_by("k").to_pylist()[0] == {"k": 2, "o": {"a": '"x"'}}
    assert sorted(table(place, low="2", high="3")["k"].to_pylist()) == [2, 3]


@pytest.mark.thorough
def test_a_task_reads_only_objects_that_the_test_leaves(place: LakeAddress) -> None:
    def parts(**options: Any) -> int:
        with place.connect() as lake:
            made = lake.frames.parts("odd", **options)
        return sum(len(part.objects) for part in made.parts)

    assert (parts(), parts(where="k == 1"), parts(low="3"), parts(where="k > 99")) == (2, 1, 1, 0)


@pytest.mark.thorough
def test_what_is_refused(place: LakeAddress) -> None:
    with pytest.raises(Refused, match="kept as text"):
        table(place, pool="bodies")
    assert table(place, pool="bodies", columns=("f7",), where="k == 7")["f7"].to_pylist() == [7]
    with pytest.raises(QueryError):
        table(place, where="mixd == 1")
    with pytest.raises(Invalid, match="more than a test"):
        table(place, where="k > 1 | head 1")


@pytest.mark.thorough
def test_the_sql_of_spark_has_the_same_columns(place: LakeAddress) -> None:
    made = place.run(lambda lake: plan(lake.queries(), ReadRequest(prefix_uri("odd"))))
    names = [each.rpartition(" AS ")[2].strip("`") for each in select_list(made.row)]
    assert names == table(place).schema.names
