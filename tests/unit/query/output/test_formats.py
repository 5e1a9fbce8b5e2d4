"""One result in every format."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lochan.errors import Refused
from lochan.query.output.formats import table_pages, write
from tests.unit.query.run_query import batches_of, planned
from tests.unit.query.toy_source import Row, ToySource

ROWS: list[dict[str, Any]] = [
    {"i": 1, "s": 'a "b", c', "m": 1, "o": {"p": 1.0, "q": "x"}, "l": [1, 2]},
    {"s": "", "i": 9007199254740993, "m": "t", "n": None, "o": {"q": "\u0001\n"}},
    {"i": None, "m": 2, "f": 1e20, "l": []},
]


def written(form: str, query: str = "from p", rows: Sequence[Row] | ToySource = ROWS) -> bytes:
    plan = planned(query, rows)
    sink = io.BytesIO()
    write(form, batches_of(plan), plan.row, sink)
    return sink.getvalue()


def test_ndjson_gives_every_row_as_it_was() -> None:
    lines = written("ndjson").decode().splitlines()
    assert [json.loads(line) for line in lines] == ROWS
    assert [list(json.loads(line)) for line in lines] == [list(row) for row in ROWS]
    assert lines[2] == '{"i":null,"m":2,"f":1e+20,"l":[]}'


def test_json_is_a_list() -> None:
    assert json.loads(written("json")) == ROWS
    assert json.loads(written("json", "from p | i < 0")) == []


def test_csv_quotes_what_must_be() -> None:
    found = written("csv", "from p | cut i, s, m, n, o, l").decode().split("\r\n")
    assert found == [
        "i,s,m,n,o,l",
        '1,"a ""b"", c",1,,"{""p"":1.0,""q"":""x""}","[1,2]"',
        '9007199254740993,"",t,,"{""q"":""\\u0001\\n""}",',
        ",,2,,,[]",
        "",
    ]


def test_text_is_cells_between_tabs() -> None:
    assert written("text", "from p | cut i, s | head 1") == b'1\ta "b", c\n'
    assert written("text", "from p | yield s") == b'a "b", c\n\n'


def test_parquet_and_arrow_are_typed() -> None:
    stored = pq.read_table(io.BytesIO(written("parquet")))
    streamed = pa.ipc.open_stream(written("arrow")).read_all()
    assert stored.to_pylist() == streamed.to_pylist()
    types = {field.name: str(field.type) for field in streamed.schema}
    assert types == {
        "i": "int64",
        "s": "string",
        "m": "string",
        "o": "struct<p: double, q: string>",
        "l": "list<item: int64>",
        "n": "null",
        "f": "double",
    }
    assert streamed["i"].to_pylist() == [1, 9007199254740993, None]
    assert streamed["m"].to_pylist() == ["1", '"t"', "2"]
    assert streamed["o"].to_pylist() == [{"p": 1.0, "q": "x"}, {"p": None, "q": "\u0001\n"}, None]


def test_values_of_several_kinds_stay_apart_in_parquet_and_arrow() -> None:
    """They are JSON text, from which every kind can be read again; null is not a text."""
    values = [1.5, "1.5", True, "true", None, [1], "[1]", {"a": None}, 'a "b"', ""]
    rows = [{"x": value, "o": {"y": value}} for value in values] + [{}]
    table = pa.ipc.open_stream(written("arrow", "from p", ToySource(rows))).read_all()
    assert table == pq.read_table(io.BytesIO(written("parquet", "from p", ToySource(rows))))
    texts = table["x"].to_pylist()
    assert texts[:5] == ["1.5", '"1.5"', "true", '"true"', None]
    assert [None if text is None else json.loads(text) for text in texts] == [*values, None]
    assert [each and each["y"] for each in table["o"].to_pylist()] == texts


def test_times_and_durations_keep_their_types() -> None:
    source = ToySource([{"t": "2026-01-01 10:00:00"}], times_at=[("t",)])
    table = pa.ipc.open_stream(written("arrow", "from p | put d := t - time(0)", source)).read_all()
    assert [str(field.type) for field in table.schema] == ["timestamp[us, tz=UTC]", "duration[us]"]
    assert written("csv", "from p | put u := t", source) == b"t,u\r\n2026-01-01 10:00:00,2026-01-01 10:00:00\r\n"


def test_a_table_comes_in_pages() -> None:
    plan = planned("from p | cut i, s", [{"i": number, "s": "x"} for number in range(25)])
    pages = list(table_pages(batches_of(plan), plan.row))
    assert [(titles, len(lines)) for titles, lines in pages] == [(["i", "s"], 25)]
    assert pages[0][1][3] == ["3", "x"]
    empty = planned("from p | i < 0 | cut i", [{"i": 1}])
    assert list(table_pages(batches_of(empty), empty.row)) == [(["i"], [])]


def test_rows_that_are_text_make_no_table() -> None:
    source = ToySource([{"a": 1}], body=True)
    with pytest.raises(Refused, match="kept as text"):
        written("csv", "from p", source)
    assert json.loads(written("ndjson", "from p", source)) == {"a": 1}
