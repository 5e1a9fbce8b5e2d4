"""Numbers, strings and times as JSON texts."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.query.output.texts import array_texts, duration_text, float_texts, ip_text, string_texts


@pytest.mark.parametrize(
    "number, text",
    [
        (1.0, "1.0"),
        (0.1, "0.1"),
        (1e20, "1e+20"),
        (1e-7, "1e-7"),
        (-0.0, "-0.0"),
        (1e15, "1e+15"),
        (123456789.5, "123456789.5"),
    ],
)
def test_floats(number: float, text: str) -> None:
    assert float_texts(pa.array([number])).to_pylist() == [text]


def test_what_json_has_no_word_for_is_null() -> None:
    assert float_texts(pa.array([float("nan"), float("inf"), None])).to_pylist() == ["null", "null", None]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_every_float_reads_back(numbers: list[float]) -> None:
    read = [json.loads(text) for text in float_texts(pa.array(numbers)).to_pylist()]
    assert read == numbers and all(isinstance(each, float) for each in read)


@given(st.lists(st.text(), min_size=1))
def test_every_string_reads_back(strings: list[str]) -> None:
    assert [json.loads(text) for text in string_texts(pa.array(strings)).to_pylist()] == strings


@given(st.lists(st.none() | st.lists(st.none() | st.integers(-(2**63), 2**63 - 1))))
def test_every_array_reads_back(arrays: list[list[int | None] | None]) -> None:
    found = array_texts(pa.array(arrays, pa.list_(pa.int64())), "int").to_pylist()
    assert [None if text is None else json.loads(text) for text in found] == arrays


def test_a_slice_of_arrays() -> None:
    arrays = pa.array([[1], [2, 3], None, [4]], pa.list_(pa.int64())).slice(1)
    assert array_texts(arrays, "int").to_pylist() == ["[2,3]", None, "[4]"]


@pytest.mark.parametrize(
    "micros, text",
    [(0, "0s"), (90_000_000, "1m30s"), (183_845_600_000, "2d3h4m5.6s"), (-1_500_000, "-1.5s"), (1, "0.000001s")],
)
def test_durations(micros: int, text: str) -> None:
    assert duration_text(micros) == text


def test_addresses() -> None:
    assert ip_text("40a000001") == "10.0.0.1" and ip_text("6" + "0" * 31 + "1") == "::1"
