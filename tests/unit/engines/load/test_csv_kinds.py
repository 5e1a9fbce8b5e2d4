"""The kinds of columns of CSV: the proofs of batches give the same rows as the engine, which looks at all texts."""

from __future__ import annotations

import csv
import io
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.engines.duckdb.load import csv_table
from lochan.ingest.text_columns import UNKNOWN, TextColumn, are_floats, as_ints
from lochan.pools.kinds import BOOL, FLOAT, INT, STRING
from lochan.pools.settings import parse
from tests.unit.engines.load.load_text import load_file

_ODD = (
    "true", "false", "True", "0", "-0", "007", "+1", " 1", "1 ", "1.", ".5", "1e5", "1E-5", "1.50", "-0.0", "0.1",
    "inf", "nan", "NaN", "-Infinity", "0x1f", "1_000", "12,5", "999999999999999", "1000000000000000",
    "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "0.30000000000000004",
    "0.1000000000000000055",
    "123456789012345.67", "1e400", "2.5e-324", "x", "null", "\u0661",
)  # fmt: skip
_TEXTS = st.one_of(
    st.sampled_from(_ODD),
    st.integers(-(1 << 64), 1 << 64).map(str),
    st.integers(-99, 99).map(str),
    st.floats().map(repr),
    st.decimals(-1000, 1000, places=2).map(str),
)
_VALUES = st.one_of(st.none(), _TEXTS)
_COLUMNS = st.one_of(
    st.lists(_VALUES, max_size=12),
    st.lists(st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False).map(repr)), max_size=12),
    st.lists(st.one_of(st.none(), st.integers().map(str), st.decimals(-9, 9, places=2).map(str)), max_size=12),
)


def _csv(values: list[str | None]) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_NOTNULL if hasattr(csv, "QUOTE_NOTNULL") else csv.QUOTE_MINIMAL)
    writer.writerow(["id", "v"])
    writer.writerows(enumerate(values))
    return file.getvalue().encode()


def _rows(data: bytes, pool_key: str = "id") -> list[str]:
    return sorted(repr(row) for made in load_file("a.csv", data, parse([pool_key])) for row in made.rows())


def _nothing_proven(self: TextColumn, texts: pa.Array) -> None:
    self.kind = UNKNOWN


@pytest.mark.thorough
@settings(max_examples=150, deadline=None)
@given(_COLUMNS)
def test_rows_are_those_that_the_engine_gives(values: list[str | None]) -> None:
    data = _csv(values)
    found = _rows(data)
    with patch.object(TextColumn, "see", _nothing_proven):
        assert found == _rows(data)


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(_TEXTS, min_size=1, max_size=4), min_size=1, max_size=4))
def test_batches_tell_the_kind_of_all(batches: list[list[str]]) -> None:
    column = TextColumn()
    for each in batches:
        column.see(pa.array(each, pa.string()))
    whole = TextColumn()
    whole.see(pa.array([text for each in batches for text in each], pa.string()))
    if UNKNOWN not in (column.kind, whole.kind):
        assert column.kind == whole.kind


@pytest.mark.parametrize(
    "batches, kind",
    [
        pytest.param([["true"], ["false", "true"]], BOOL, id="bools"),
        pytest.param([["1", "-5"], ["9223372036854775807"]], INT, id="ints"),
        pytest.param([["1"], ["2.50"], ["3"]], FLOAT, id="ints, then floats"),
        pytest.param([["0.30000000000000004", "1.5"]], FLOAT, id="all digits of a float"),
        pytest.param([["9007199254740993"], ["0.5"]], UNKNOWN, id="a large int before floats"),
        pytest.param([["0.5"], ["9007199254740993"]], UNKNOWN, id="a large int after floats"),
        pytest.param([["0.5"], ["1000000000000000"]], UNKNOWN, id="sixteen digits"),
        pytest.param([["1"], ["true"]], UNKNOWN, id="a bool after ints"),
        pytest.param([["1"], ["x"]], STRING, id="a text after ints"),
        pytest.param([[""]], STRING, id="an empty text"),
        pytest.param([["1e5"]], UNKNOWN, id="an exponent"),
    ],
)
def test_what_is_known_of_a_column(batches: list[list[str]], kind: str) -> None:
    column = TextColumn()
    column.see(pa.array([None], pa.string()))
    for each in batches:
        column.see(pa.array([*each, None], pa.string()))
    assert column.kind == kind


def test_a_column_without_values_has_no_kind() -> None:
    column = TextColumn()
    column.see(pa.array([None, None], pa.string()))
    assert column.kind is None and column.typed(pa.array([None], pa.string())).type == pa.string()


@pytest.mark.parametrize("text", ["+1", "01", " 1", "1 ", "-0", "1.0", "0x1", "9223372036854775808", ""])
def test_no_int(text: str) -> None:
    assert as_ints(pa.array(["1", text])) is None


@pytest.mark.parametrize("text", ["nan", "inf", "1e400", "0.1000000000000000055", "1.", ".5", "00.5", "1" * 16, ""])
def test_no_float(text: str) -> None:
    assert not are_floats(pa.array(["0.5", text]))


def test_texts_are_put_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several batches each, of which the last changes a kind."""
    plain = b"id,n,f,s\n" + b"".join(b"%d,%d,%d.25,text %d\n" % (id, id * 7, id, id) for id in range(3_000))
    expected = {last: _rows(plain + last) for last in (b"", b"3000,x,0.5,y\n", b"3000,1e3,0.5,y\n")}
    monkeypatch.setattr(csv_table, "_TEXTS_SHARE", 1 << 28)
    monkeypatch.setattr(csv_table, "_BLOCK_BYTES", 1 << 12)
    for last, rows in expected.items():
        assert _rows(plain + last) == rows and len(rows) == 3_000 + bool(last)
