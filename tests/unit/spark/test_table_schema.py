"""The columns of a table of files come from all their footers."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lochan.engines.spark.frames.table_schema import (
    FileSchema,
    check_names,
    is_read_by_spark,
    merged_schema,
    schema_in_footer,
)
from lochan.errors import Invalid


def footer(path: str, columns: dict[str, pa.Array], **how: Any) -> FileSchema:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, **how)
    return schema_in_footer(path, pq.read_metadata(io.BytesIO(sink.getvalue())))


def of(type: pa.DataType) -> FileSchema:
    """NOT NULL, if the type has that."""
    return FileSchema(f"{type}.parquet", pa.schema([pa.field("x", type, nullable=pa.types.is_null(type))]))


@pytest.mark.parametrize(
    "left, right, both, by_spark",
    [
        pytest.param(pa.int32(), pa.int64(), pa.int64(), True, id="ints as wide as the widest"),
        pytest.param(pa.float32(), pa.float64(), pa.float64(), True, id="floats"),
        pytest.param(pa.int32(), pa.float64(), pa.float64(), False, id="small ints are doubles"),
        pytest.param(pa.decimal128(5, 2), pa.decimal128(10, 0), pa.decimal128(12, 2), False, id="decimals"),
        pytest.param(pa.null(), pa.date32(), pa.date32(), False, id="nothing but NULL beside days"),
        pytest.param(pa.null(), pa.null(), pa.string(), False, id="nothing but NULL"),
        pytest.param(
            pa.struct([("a", pa.int32())]),
            pa.struct([("b", pa.string()), ("a", pa.int64())]),
            pa.struct([("a", pa.int64()), ("b", pa.string())]),
            True,
            id="members of structs",
        ),
        pytest.param(
            pa.map_(pa.string(), pa.list_(pa.int32())),
            pa.map_(pa.string(), pa.list_(pa.int64())),
            pa.map_(pa.string(), pa.list_(pa.int64())),
            True,
            id="lists in maps",
        ),
    ],
)
def test_files_of_different_types(left: pa.DataType, right: pa.DataType, both: pa.DataType, by_spark: bool) -> None:
    schema = merged_schema([of(left), of(right)])
    assert schema == pa.schema([pa.field("x", both, nullable=True)])
    assert is_read_by_spark(of(left), schema) is by_spark


@pytest.mark.parametrize(
    "left, right",
    [
        pytest.param(pa.int64(), pa.float64(), id="a double would round ints"),
        pytest.param(pa.int64(), pa.string(), id="numbers and texts"),
        pytest.param(pa.timestamp("us"), pa.timestamp("us", "UTC"), id="moments, and times of no zone"),
        pytest.param(pa.decimal128(38, 0), pa.decimal128(10, 2), id="more digits than a decimal has"),
        pytest.param(pa.struct([("a", pa.int64())]), pa.struct([("a", pa.bool_())]), id="members"),
        pytest.param(pa.list_(pa.int64()), pa.int64(), id="a list and a number"),
    ],
)
def test_types_that_have_nothing_in_common_are_refused(left: pa.DataType, right: pa.DataType) -> None:
    with pytest.raises(Invalid) as refused:
        merged_schema([of(left), of(right)])
    assert all(f"{each}.parquet" in str(refused.value) for each in (left, right))


def test_types_are_those_that_spark_reads() -> None:
    moment = pa.array([1], pa.timestamp("us"))
    small = {
        "u32": pa.array([1], pa.uint32()),
        "u64": pa.array([1], pa.uint64()),
        "d": pa.array(["a"]).dictionary_encode(),
        "l": pa.array(
            [[{"t": moment[0].as_py(), "n": 1}]], pa.list_(pa.struct([("t", moment.type), ("n", pa.int8())]))
        ),
        "m": pa.array([Decimal("1.5")], pa.decimal128(5, 1)),
    }
    found = footer("a.parquet", small)
    inner = pa.struct([("t", pa.timestamp("us")), ("n", pa.int8())])
    types = [pa.int64(), pa.decimal128(20, 0), pa.string(), pa.list_(inner), pa.decimal128(5, 1)]
    assert (found.schema.types, found.is_odd) == (types, False)
    by_spark = footer("b.parquet", {"l": small["l"], "t": moment}, use_deprecated_int96_timestamps=True)
    zoned = pa.timestamp("us", "UTC")
    assert by_spark.schema.types == [pa.list_(pa.struct([("t", zoned), ("n", pa.int8())])), zoned]
    assert footer("c.parquet", {"t": pa.array([1], pa.timestamp("ns"))}).is_odd
    with pytest.raises(Invalid, match=r"d\.parquet: Spark has no type for the column 'of day'"):
        footer("d.parquet", {"of day": pa.array([1], pa.time64("us"))})


def test_names_that_differ_in_case() -> None:
    schema = pa.schema([("x", pa.int64()), ("X", pa.int64())])
    check_names(schema, case_sensitive=True)
    with pytest.raises(Invalid, match="'x' and 'X' differ in case alone"):
        check_names(schema, case_sensitive=False)
