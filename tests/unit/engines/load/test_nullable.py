"""Tables with nulls: one shape, columns for all, and every row unchanged, in every format."""

import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lochan.pools.shape import Maybe, Object
from tests.unit.engines.load.load_text import Made, load_bytes, load_file, load_rows
from tests.unit.engines.load.load_text import settings as pool

BY_ID = pool("id")
_CELLS = pa.struct([("x", pa.int64()), ("in", pa.struct([("y", pa.string()), ("z", pa.null())]))])
_SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("a", pa.int32()),
        ("b", pa.string()),
        ("day", pa.date32()),
        ("l", pa.list_(pa.float64())),
        ("s", _CELLS),
        ("e", pa.struct([])),
        ("n", pa.null()),
    ]
)
_STRUCTS = st.fixed_dictionaries(
    {
        "x": st.sampled_from([None, 1]),
        "in": st.one_of(st.none(), st.fixed_dictionaries({"y": st.sampled_from([None, "y"]), "z": st.none()})),
    }
)
_ROWS = st.fixed_dictionaries(
    {
        "id": st.integers(0, 9),
        "a": st.sampled_from([None, 1, 2]),
        "b": st.sampled_from([None, "", "null"]),
        "day": st.none(),
        "l": st.sampled_from([None, [], [1.5, None]]),
        "s": st.one_of(st.none(), _STRUCTS),
        "e": st.sampled_from([None, {}, {}]),
        "n": st.none(),
    }
)


@pytest.mark.thorough
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(_ROWS, min_size=1, max_size=6), min_size=1, max_size=3))
def test_tables_come_back(tables: list[list[dict[str, Any]]]) -> None:
    """Each is a batch of its own: what one never has null, the next may have."""
    table = pa.Table.from_batches([pa.RecordBatch.from_pylist(rows, schema=_SCHEMA) for rows in tables])
    made = load_rows(table, BY_ID)
    assert _in_order(made) == sorted(json.dumps(row) for row in table.to_pylist())


def sparse(rows: int) -> pa.Table:
    """Twelve columns, each null in every third row or so, and all combinations of them."""
    rng = np.random.default_rng(7)
    columns = {"id": pa.array(np.arange(rows))}
    for number in range(12):
        nulls = rng.random(rows) < 0.3
        values = rng.integers(0, 100, rows)
        texts = pa.array(values).cast(pa.string())
        columns[f"c{number}"] = _nulled(nulls, pa.array(values) if number % 2 else texts)
    return pa.table(columns)


def _nulled(nulls: Any, values: pa.Array) -> pa.Array:
    return pa.Array.from_buffers(values.type, len(values), [_valid(nulls), *values.buffers()[1:]])


def _valid(nulls: Any) -> pa.Buffer:
    return pa.py_buffer(np.packbits(~nulls, bitorder="little").tobytes())


@pytest.mark.thorough
@pytest.mark.parametrize("format", ["parquet", "csv", "ndjson"])
def test_a_sparse_table_has_one_shape(format: str) -> None:
    table = sparse(100_000 if format == "parquet" else 20_000)
    [made] = load_file(f"x.{format}", _written(table, format), BY_ID)
    expected = Object(
        (("id", "int"), *((f"c{n}", Maybe("int" if n % 2 or format == "csv" else "string")) for n in range(12)))
    )
    assert [each.shape for each in made.facts.shapes] == [expected]
    assert not made.facts.body
    nulls = {name: table[name].null_count for name in table.column_names}
    assert {each.path[0]: each.present for each in made.facts.columns} == {
        name: len(table) - count for name, count in nulls.items()
    }
    back = made.table.select(table.column_names)
    assert back.cast(table.schema).equals(table)


def _written(table: pa.Table, format: str) -> bytes:
    sink = io.BytesIO()
    if format == "parquet":
        pq.write_table(table, sink)
    elif format == "csv":
        import pyarrow.csv

        pyarrow.csv.write_csv(table, sink)
    else:
        sink.write(b"".join(json.dumps(row).encode() + b"\n" for row in table.to_pylist()))
    return sink.getvalue()


@pytest.mark.thorough
def test_nulls_that_come_late() -> None:
    """The first rows had another shape than the last, and all have one in the end."""
    rows = [{"id": n, "a": n, "o": {"c": "x"}} for n in range(3_000)]
    rows += [{"id": n, "a": None, "o": {"c": None}} for n in range(3_000, 6_000)]
    rows += [{"id": n, "a": n, "o": None} for n in range(6_000, 9_000)]
    [made] = load_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows), BY_ID)
    assert [each.shape for each in made.facts.shapes] == [
        Object((("id", "int"), ("a", Maybe("int")), ("o", Maybe(Object((("c", Maybe("string")),))))))
    ]
    assert made.rows() == rows


def test_the_whole_row_is_the_key() -> None:
    rows = [{"b": 1, "a": None}, {"b": None, "a": {"c": None}}, {"b": 1, "a": {"c": 2}}, {"b": None, "a": None}]
    [made] = load_rows(rows, pool())
    assert made.rows() == sorted(rows, key=lambda row: json.dumps(row, sort_keys=True, separators=(",", ":")))
    assert len(made.facts.shapes) == 1


def test_an_object_in_the_key_may_be_null() -> None:
    rows: list[Any] = [{"o": {"p": {"c": 1}}}, {"o": None}, {"o": {"p": None}}, {"o": {"p": {"c": 1}}}]
    [made] = load_rows(rows, pool("o.p"))
    assert len(made.facts.shapes) == 1
    assert made.facts.keyless == 2
    assert sorted(map(str, made.rows())) == sorted(map(str, rows))


def _in_order(made: list[Made]) -> list[str]:
    return sorted(json.dumps(row) for each in made for row in each.rows())
