"""Layouts: no two values in one place, no two columns with one name."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.pools.layout import COLUMNS_MAX, Alternate, Layout, Member, columns, lay_out, physical
from lochan.pools.shape import Array, Object, kind_of, type_of
from tests.unit.pools.rows import ROWS


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([{"x": 1}, {"x": None}, {}], [("x", "int")], id="one kind has a plain name"),
        pytest.param([{"x": 1}, {"x": "1"}], [("x#i", "int"), ("x#s", "string")], id="a column for each kind"),
        pytest.param([{"x": 1}, {"x": 1.5}], [("x#i", "int"), ("x#f", "float")], id="ints and floats stay apart"),
        pytest.param([{"x": {"y": 1}}], [("x", Object((("y", "int"),)))], id="an object is a struct"),
        pytest.param(
            [{"x": {"y": 1}}, {"x": {"y": True, "z": "s"}}],
            [("x", Object((("y#b", "bool"), ("y#i", "int"), ("z", "string"))))],
            id="kinds that differ inside of an object",
        ),
        pytest.param([{"x": [1]}, {"x": []}], [("x", Array("int"))], id="a list"),
        pytest.param([{"x": [1]}, {"x": ["s"]}], [("x#j", "string")], id="lists that differ are text"),
        pytest.param([{"x": 1}, {"x": [1]}], [("x#i", "int"), ("x#j", "string")], id="a list among scalars is text"),
        pytest.param([{"x": []}], [("x#j", "string")], id="a list of nothing has no type"),
        pytest.param([{"x": None}, {"y": {}}, {"z": {"a": None}}], [], id="what the shape tells needs no column"),
        pytest.param([{"x#i": 1, "_shape": 2}], [("#_shape", "int"), ("x##i", "int")], id="names that look like ours"),
    ],
)
def test_columns(rows: list[dict[str, Any]], expected: list[tuple[str, object]]) -> None:
    assert list(columns(lay_out(map(_shape, rows)))) == expected


def test_names_that_differ_in_case_alone_make_a_body() -> None:
    layout = lay_out([_shape({"a": 1}), _shape({"A": 1, "k": {"t": "x"}})], [("k", "t")])
    assert layout == Layout((Member("k.t", (Alternate("string", "k.t#s"),)),), body=True)


def test_too_many_columns_make_a_body() -> None:
    wide = _shape({f"f{number}": number for number in range(COLUMNS_MAX + 1)})
    assert lay_out([wide], [("f7",)]).body
    assert not lay_out([_shape({f"f{number}": number for number in range(COLUMNS_MAX)})]).body


@pytest.mark.thorough
@given(st.lists(ROWS, min_size=1, max_size=6))
def test_every_value_has_one_place_and_no_two_columns_meet(rows: list[dict[str, Any]]) -> None:
    shapes = [_shape(row) for row in rows]
    layout = lay_out(shapes)
    assert layout == lay_out(reversed(shapes))
    names = [name.lower() for name, _ in columns(layout)]
    assert len(names) == len(set(names))
    if not layout.body:
        for shape in shapes:
            _has_a_place(layout.members, shape)


@given(st.lists(st.text("#_abi", max_size=6), unique=True, max_size=20))
def test_physical_names_are_as_many_as_names(names: list[str]) -> None:
    marked = {physical(name) + mark for name in names for mark in ("", "#i", "#j")}
    assert len(marked) == 3 * len(names)


def _has_a_place(members: tuple[Member, ...], shape: Object) -> None:
    by_name = {member.name: member for member in members}
    for name, type in shape.fields:
        kind = kind_of(type)
        if kind == "null":
            continue
        found = by_name[name].alternate(kind) or by_name[name].alternate("json")
        assert found is not None
        if isinstance(type, Object) and found.kind == "object":
            _has_a_place(found.members, type)
        else:
            assert found.column


def _shape(row: dict[str, Any]) -> Object:
    shape = type_of(row)
    assert isinstance(shape, Object)
    return shape
