"""Shapes that differ only by nulls are one, with the same rows in the same columns."""

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.pools.layout import SHAPES_MAX, lay_out
from lochan.pools.nullable_shapes import has_column, is_ambiguous, join_shapes
from lochan.pools.shape import (
    Array,
    Maybe,
    Object,
    Type,
    decides_nulls,
    decode,
    encode,
    kind_of,
    shape_id,
    type_at,
    type_of,
)
from tests.unit.pools.rows import ROWS


def shape(row: dict[str, Any]) -> Object:
    found = type_of(row)
    assert isinstance(found, Object)
    return found


def of(**fields: Type) -> Object:
    return Object(tuple(fields.items()))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([{"a": 1}], [of(a="int")], id="never null"),
        pytest.param([{"a": None}], [of(a="null")], id="only null"),
        pytest.param([{"a": 1}, {"a": None}], [of(a=Maybe("int"))], id="an int or null"),
        pytest.param([{"a": 1}, {"a": None}, {}], [of(a=Maybe("int")), of()], id="missing is not null"),
        pytest.param(
            [{"a": 1, "b": None}, {"b": 1, "a": None}],
            [of(a="int", b="null"), of(b="int", a="null")],
            id="other orders",
        ),
        pytest.param(
            [{"a": None, "b": None}, {"a": 1, "b": None}, {"a": None, "b": "s"}],
            [of(a=Maybe("int"), b=Maybe("string"))],
            id="two that may be null",
        ),
        pytest.param(
            [{"a": "s"}, {"a": None}, {"a": 1}], [of(a=Maybe("int")), of(a="string")], id="null goes with the first"
        ),
        pytest.param(
            [{"a": {"c": 1}}, {"a": {"c": None}}, {"a": None}],
            [of(a=Maybe(of(c=Maybe("int"))))],
            id="inside of objects",
        ),
        pytest.param([{"a": {}}, {"a": None}], [of(a=of()), of(a="null")], id="an object that has no column"),
        pytest.param(
            [{"a": {"c": None}}, {"a": None}], [of(a=of(c="null")), of(a="null")], id="an object of nothing but nulls"
        ),
        pytest.param([{"a": [1]}, {"a": None}], [of(a=Maybe(Array("int")))], id="a list"),
        pytest.param([{"a": []}, {"a": None}], [of(a=Maybe(Array(None)))], id="an empty list"),
        pytest.param([{"a": [1, "x"]}, {"a": None}], [of(a=Maybe("json"))], id="what is kept as text"),
    ],
)
def test_joined(rows: list[dict[str, Any]], expected: list[Object]) -> None:
    assert set(join_shapes(map(shape, rows)).values()) == set(expected)


def test_what_is_wider_already_takes_the_null() -> None:
    wide = of(a=Maybe("string"))
    assert set(join_shapes([wide, of(a="int"), of(a="null")]).values()) == {wide, of(a="int")}


@pytest.mark.thorough
@given(st.lists(ROWS, max_size=8))
def test_it_is_one_answer_in_the_same_columns(rows: list[dict[str, Any]]) -> None:
    shapes = list(map(shape, rows))
    into = join_shapes(shapes)
    assert set(into) == set(shapes)
    assert join_shapes(random.Random(1).sample(shapes, len(shapes))) == into
    once = list(into.values())
    assert join_shapes(once) == {each: each for each in once}
    assert lay_out(once) == lay_out(shapes)
    for one, other in into.items():
        _check_holds(other, one)


def _check_holds(wide: Type, narrow: Type) -> None:
    if isinstance(wide, Maybe):
        assert has_column(wide.of)
        if narrow == "null":
            return
        wide = wide.of
    if not isinstance(wide, Object):
        assert wide == narrow
        return
    assert isinstance(narrow, Object)
    assert wide.names() == narrow.names()
    for (_, one), (_, other) in zip(wide.fields, narrow.fields, strict=True):
        _check_holds(one, other)


@pytest.mark.thorough
def test_a_table_of_twelve_columns_has_one_shape() -> None:
    rows = [{f"c{n}": None if bits >> n & 1 else n for n in range(12)} for bits in range(1 << 12)]
    shapes = list(map(shape, rows))
    assert len(set(shapes)) == 4096 > SHAPES_MAX
    assert len(set(join_shapes(shapes).values())) == 1
    assert not lay_out(shapes).body


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ([of(a=Maybe("int")), of(a="string")], False),
        ([of(a=Maybe("int")), of(a=Maybe("string"))], True),
        ([of(a=Maybe("int")), of(b=Maybe("string"))], False),
        ([of(o=of(a=Maybe("int"))), of(o=of(a=Maybe("float")))], True),
        ([of(o=of(a=Maybe("int"))), of(o=of(b=Maybe("float")))], False),
        ([of(o=Maybe(of(a="int"))), of(o=Maybe(of(b="int")))], True),
    ],
)
def test_a_null_may_be_told_by_two_shapes(shapes: list[Object], expected: bool) -> None:
    assert is_ambiguous(join_shapes(shapes).values()) is expected


def test_on_the_disk() -> None:
    written = b'["o",[["a",["m","int"]],["b",["m",["o",[["c",["m",["a","string"]]]]]]]]]'
    found = decode(written)
    assert found == of(a=Maybe("int"), b=Maybe(of(c=Maybe(Array("string")))))
    assert encode(found) == written
    assert isinstance(found, Object)
    assert shape_id(found, {}) != shape_id(of(a="int", b=of(c=Array("string"))), {})
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(found), type=Object) == found


def test_what_is_asked_of_a_type() -> None:
    found = of(a=Maybe(of(b="time:YYYY-MM-DD")))
    assert type_at(found, ("a", "b")) == "time:YYYY-MM-DD"
    assert type_at(found, ("a", "b", "c")) is None
    assert kind_of(found.fields[0][1]) == "object"
    assert not decides_nulls(found)
    assert decides_nulls(of(a=of(b="null")))
