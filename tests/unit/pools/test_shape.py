"""Shapes: the same row, the same shape; a change of order, kind or presence, another."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.pools.shape import (
    Array,
    Object,
    decode,
    encode,
    flat_shape,
    kind_of,
    number_shapes,
    shape_id,
    type_of,
    unify,
)
from tests.unit.pools.rows import ROWS


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"a": 1, "b": None}, Object((("a", "int"), ("b", "null"))), id="order and nulls are kept"),
        pytest.param([], Array(None), id="an empty list"),
        pytest.param([1, None], Array("int"), id="a null among ints"),
        pytest.param([None], Array("null"), id="nothing but null"),
        pytest.param([1, 1.0], "json", id="an int and a float are no one kind"),
        pytest.param([1, "1"], "json", id="kinds that differ"),
        pytest.param([[], [1]], Array(Array("int")), id="an empty list among others"),
        pytest.param([[1], ["x"]], "json", id="lists that differ"),
        pytest.param([{"a": None}, {"a": 1}], Array(Object((("a", "int"),))), id="a null inside of a list"),
        pytest.param([{"a": 1}, {"b": 1}], "json", id="other names in a list"),
        pytest.param([{"a": 1, "b": 1}, {"b": 1, "a": 1}], "json", id="another order in a list"),
        pytest.param([{"a": [None]}, {"a": []}], Array(Object((("a", Array("null")),))), id="empty inside of a list"),
        pytest.param((1 << 63) - 1, "int", id="the greatest int"),
        pytest.param(1 << 63, "json", id="beyond the greatest int"),
        pytest.param(-(1 << 63) - 1, "json", id="below the least int"),
        pytest.param(True, "bool", id="a bool is no int"),
        pytest.param({}, Object(()), id="no fields"),
    ],
)
def test_types(value: Any, expected: object) -> None:
    assert type_of(value) == expected


@given(ROWS)
def test_a_flat_row_has_the_same_shape_sooner(row: dict[str, Any]) -> None:
    assert flat_shape(row) in (None, type_of(row))


@pytest.mark.parametrize(
    ("row", "is_flat"),
    [
        pytest.param({"a": 1, "b": "x", "c": None, "d": 0.5, "e": True}, True, id="scalars"),
        pytest.param({"a": (1 << 63) - 1, "b": -(1 << 63)}, True, id="ints of 64 bits"),
        pytest.param({"a": 1, "b": 1 << 63}, False, id="a longer int"),
        pytest.param({"a": {"b": 1}}, False, id="an object inside"),
        pytest.param({"a": Decimal("0.1")}, False, id="a number that no double represents"),
        pytest.param({f"a{n}": 1 for n in range(65)}, False, id="many fields"),
        pytest.param({}, True, id="no fields"),
    ],
)
def test_which_rows_are_flat(row: dict[str, Any], is_flat: bool) -> None:
    for _ in range(2):  # the second time by what is kept
        assert flat_shape(row) == (type_of(row) if is_flat else None)
    assert flat_shape(row) is flat_shape(dict(row)), "one object for all rows of a shape"


def test_what_lies_too_deep_is_text() -> None:
    value: Any = 1
    for _ in range(40):
        value = [value]
    found = type_of(value)
    depth = 0
    while isinstance(found, Array):
        assert found.of is not None
        found, depth = found.of, depth + 1
    assert (found, depth) == ("json", 32)


@given(ROWS)
@pytest.mark.thorough
def test_a_shape_comes_back_from_its_bytes(row: dict[str, Any]) -> None:
    assert decode(encode(type_of(row))) == type_of(row)


@given(st.lists(ROWS, max_size=6), st.randoms())
@pytest.mark.thorough
def test_a_dictionary_does_not_depend_on_the_order_of_rows(rows: list[dict[str, Any]], random: Any) -> None:
    shapes = [shape for row in rows if isinstance(shape := type_of(row), Object)]
    shuffled = random.sample(shapes, len(shapes))
    by_id = number_shapes(shapes)
    assert by_id == number_shapes(shuffled)
    assert set(by_id.values()) == set(shapes)
    assert all(0 < id < 1 << 31 for id in by_id)


def test_a_number_that_is_taken_is_passed_over() -> None:
    shape, other = Object((("a", "int"),)), Object((("b", "int"),))
    id = shape_id(shape, {})
    assert shape_id(shape, {id: shape}) == id
    assert shape_id(shape, {id: other}) == id + 1


@pytest.mark.thorough
@given(ROWS, ROWS)
def test_unify_takes_no_side(one: dict[str, Any], other: dict[str, Any]) -> None:
    left, right = type_of(one), type_of(other)
    assert unify(left, right) == unify(right, left)
    assert unify(left, left) == left


def test_the_kind_of_a_time_leaves_its_format_out() -> None:
    assert [kind_of(type) for type in ("time:iso-ms", Object(()), Array(None), "json")] == [
        "time",
        "object",
        "array",
        "json",
    ]
