"""Kinds of values that are written as texts."""

import pyarrow as pa
import pytest

from lochan.ingest.text_kinds import as_kind, column_kind


@pytest.mark.parametrize(
    "texts, values",
    [
        pytest.param(["1", "-2"], [1, -2], id="ints"),
        pytest.param(["1", "2.5"], [1.0, 2.5], id="ints are floats beside floats"),
        pytest.param(["1", "9007199254740993"], [1, 9007199254740993], id="large ints"),
        pytest.param(
            ["9007199254740993", "2.5"], ["9007199254740993", "2.5"], id="an int that no float represents stays a text"
        ),
        pytest.param(["2.5e-324"], ["2.5e-324"], id="so does a number that would be rounded"),
        pytest.param(["true", "1"], ["true", "1"], id="a bool beside an int"),
    ],
)
def test_all_values_of_a_column_have_one_kind(texts: list[str], values: list[object]) -> None:
    column = pa.array(texts, pa.string())
    found = as_kind(column_kind(column), column).to_pylist()
    assert found == values
    assert [type(each) for each in found] == [type(each) for each in values]
