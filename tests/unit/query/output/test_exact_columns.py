"""A column has a wider type only where every value is exact in it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lochan.engines.spark.frames.typed_columns import arrow, arrow_schema
from lochan.errors import Refused
from lochan.query.output.columns import Column, TimeFormat
from lochan.query.output.typed import typed_batch

NUMBER = Column({"object": ""}, members=(("id", Column({"int": "i", "float": "f"}, "missing")),))


def batch(*ints: int | None) -> pa.RecordBatch:
    floats = [0.5 if each is None else None for each in ints]
    return pa.RecordBatch.from_pydict({"i": pa.array(ints, pa.int64()), "f": pa.array(floats, pa.float64())})


def test_ints_that_doubles_are_exactly() -> None:
    assert typed_batch(batch(1, None, 2**53, 2**60), NUMBER)["id"].to_pylist() == [1.0, 0.5, 2.0**53, 2.0**60]


@pytest.mark.parametrize("whole", [2**53 + 1, 2**63 - 1, -(2**53) - 1])
def test_an_int_that_no_double_is(whole: int) -> None:
    with pytest.raises(Refused, match=f"`id` holds ints beside floats.*{whole}"):
        typed_batch(batch(1, None, whole), NUMBER)


def test_a_day_inside_of_an_object_is_a_day() -> None:
    """As a time it would be the evening before, where the session's zone is west of Greenwich."""
    day = Column({"time": "t"}, "", format=TimeFormat("YYYY-MM-DD"))
    row = Column({"object": ""}, members=(("o", Column({"object": ""}, members=(("day", day),))), ("top", day)))
    days = pa.array([0, 253402214400_000_000], pa.int64()).cast(pa.timestamp("us", "UTC"))
    made = arrow(pa.RecordBatch.from_pydict({"t": days}), row)
    assert (
        made.schema == arrow_schema(row) == pa.schema([("o", pa.struct([("day", pa.date32())])), ("top", pa.date32())])
    )
    assert [str(each["day"]) for each in made["o"].to_pylist()] == ["1970-01-01", "9999-12-31"]
    assert [str(each) for each in made["top"].to_pylist()] == ["1970-01-01", "9999-12-31"]
