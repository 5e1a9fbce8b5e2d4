"""Each format becomes the right rows."""

import gzip
import io
import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lochan.engines.duckdb.load.load import LoaderOptions
from lochan.errors import Invalid
from lochan.pools.settings import parse
from tests.unit.engines.load.load_text import load_file, load_rows

POOL = parse(["id"])


def rows_of(name: str, data: bytes, how: LoaderOptions | None = None, pool: Any = POOL) -> list[dict[str, Any]]:
    return [row for each in load_file(name, data, pool, how) for row in each.rows()]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name, text",
    [
        pytest.param("a.ndjson", '{"id":1,"b":2}\n\n{"id":2}\n', id="a row a line, and an empty line"),
        pytest.param("a", '{"id":1,"b":2}\n{"id":2}', id="told by its content, without a newline at the end"),
        pytest.param("a.json", '[{"id":1,"b":2},{"id":2}]', id="a list"),
        pytest.param("a", '[\n  {\n "id": 1,\n "b": 2\n },\n {"id":2} ]\n', id="a list over lines"),
        pytest.param("a.json", '{"id":1,"b":2}{"id":2}', id="objects behind each other"),
        pytest.param("a.json", '{\n"id":1,\n"b":2}\n{\n"id":2\n}', id="objects over lines"),
        pytest.param("a.json", '\ufeff[{"id":1,"b":2} , {"id":2}]', id="with a mark of UTF-8 in front"),
        pytest.param("a.csv", "id,b\n1,2\n", id="CSV"),
        pytest.param("a.tsv", "id\tb\n1\t2\n", id="TSV"),
    ],
)
def test_text_formats(name: str, text: str) -> None:
    expected = [{"id": 1, "b": 2}, {"id": 2}]
    assert rows_of(name, text.encode()) == expected[: 1 if "sv" in name else 2]
    assert rows_of(f"{name}.gz", gzip.compress(text.encode())) == rows_of(name, text.encode())
    packed = pa.compress(text.encode(), "zstd", asbytes=True)
    assert rows_of(f"{name}.zst", packed) == rows_of(name, text.encode())


def test_strings_may_hold_brackets_quotes_and_slashes_in_a_list() -> None:
    rows = [{"id": n, "s": text} for n, text in enumerate(['}{"', "\\", '\\"', "[,]", "\\\\}", ""])]
    assert rows_of("a.json", json.dumps(rows).encode()) == rows


@pytest.mark.thorough
def test_a_list_in_many_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    from lochan.ingest import lines as elements

    rows = [{"id": n, "s": "\\" * (n % 3) + '"' * (n % 2)} for n in range(200)]
    text = json.dumps(rows, indent=1).encode()
    for size in (1, 2, 7, 64):
        found = [
            json.loads(line)
            for chunk in elements.json_elements("x", io.BytesIO(text), size)
            for line in chunk.texts.to_pylist()
        ]
        assert found == rows


def test_lines() -> None:
    made = rows_of("a.log", b"first\r\n\n{not json}\nlast", pool=parse([]))
    assert sorted(row["line"] for row in made) == ["", "first", "last", "{not json}"]


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param("id,b\n1,true\n2,false\n", [{"id": 1, "b": True}, {"id": 2, "b": False}], id="bools"),
        pytest.param("id,b\n1,x\n2,1\n", [{"id": 1, "b": "x"}, {"id": 2, "b": "1"}], id="one text makes all texts"),
        pytest.param("id,b\n1,007\n", [{"id": 1, "b": "007"}], id="what would not come back stays a text"),
        pytest.param("id,b\n1,1\n2,2.50\n", [{"id": 1, "b": 1.0}, {"id": 2, "b": 2.5}], id="numbers are floats"),
        pytest.param("id,b\n1,9223372036854775807\n", [{"id": 1, "b": 2**63 - 1}], id="64 bits"),
        pytest.param("id,b\n1,9223372036854775808\n", [{"id": 1, "b": "9223372036854775808"}], id="beyond"),
        pytest.param("id,b\n1,0.1000000000000000055\n", [{"id": 1, "b": "0.1000000000000000055"}], id="long"),
        pytest.param("id,b\n1,0.30000000000000004\n", [{"id": 1, "b": 0.30000000000000004}], id="seventeen digits"),
        pytest.param(
            'id,b\n1,\n2,""\n3,x\n', [{"id": 1, "b": None}, {"id": 2, "b": ""}, {"id": 3, "b": "x"}], id="null"
        ),
        pytest.param('id,b\n1,"a\nb,""c"""\n', [{"id": 1, "b": 'a\nb,"c"'}], id="quotes and newlines"),
        pytest.param(
            "id,b\n1,9007199254740993\n2,0.5\n",
            [{"id": 1, "b": "9007199254740993"}, {"id": 2, "b": "0.5"}],
            id="an int that no float represents, beside floats",
        ),
        pytest.param(
            "id,b\n1,2.5e-324\n2,1.0\n", [{"id": 1, "b": "2.5e-324"}, {"id": 2, "b": "1.0"}], id="too close to zero"
        ),
        pytest.param("id,b\n1,0e9\n2,1.50\n", [{"id": 1, "b": 0.0}, {"id": 2, "b": 1.5}], id="written otherwise"),
        pytest.param("id,b\n", [], id="no rows"),
        pytest.param("id,a.b,é\n1,2,3\n", [{"id": 1, "a.b": 2, "é": 3}], id="names of any letters"),
    ],
)
def test_columns_of_csv_are_typed_by_all_of_their_values(text: str, expected: list[dict[str, Any]]) -> None:
    assert rows_of("a.csv", text.encode()) == expected


@pytest.mark.parametrize(
    "last, first_again",
    [
        pytest.param("x", "1", id="a text"),
        pytest.param("2.5", 1.0, id="a float"),
        pytest.param("true", "1", id="a bool"),
        pytest.param("", 1, id="nothing"),
    ],
)
def test_the_last_line_of_csv_may_change_the_kind(last: str, first_again: object) -> None:
    text = "id,b\n" + "".join(f"{id},1\n" for id in range(2_500)) + f"2500,{last}\n"
    rows = rows_of("a.csv", text.encode())
    assert len(rows) == 2_501
    assert next(row for row in rows if row["id"] == 0) == {"id": 0, "b": first_again}


def test_columns_of_csv_may_lack_a_name_or_differ_in_case_alone() -> None:
    assert rows_of("a.csv", b",id,ID\n0,1,x\n") == [{"": 0, "id": 1, "ID": "x"}]
    assert rows_of("a.tsv", b'""\tid\nx\t1\n') == [{"": "x", "id": 1}]


def test_csv_keeps_times_as_texts_unless_declared() -> None:
    data = b"id,ts\n1,2026-11-01T10:00:00Z\n2,2026-11-02T10:00:00Z\n"
    (made,) = load_file("a.csv", data, parse(["ts:time"]))
    assert {column.kind for column in made.facts.columns} == {"int", "time"}
    assert made.rows() == [{"id": 1, "ts": "2026-11-01T10:00:00Z"}, {"id": 2, "ts": "2026-11-02T10:00:00Z"}]
    (mixed,) = load_file("a.csv", data + b"3,soon\n", parse(["ts:time"]))
    assert [row["ts"] for row in mixed.rows()] == ["2026-11-01T10:00:00Z", "2026-11-02T10:00:00Z", "soon"]


TABLE = pa.table(
    {
        "id": pa.array([1, 2], pa.uint8()),
        "big": pa.array([2**64 - 1, 5], pa.uint64()),
        "f": pa.array([1.5, None], pa.float32()),
        "s": pa.array(["x", None]).dictionary_encode(),
        "at": pa.array([1_000_000, None], pa.timestamp("us")),
        "ns": pa.array([1_000_000_123, 0], pa.timestamp("ns", "UTC")),
        "day": pa.array([date(2026, 11, 1), None]),
        "clock": pa.array([time(10, 30), None]),
        "raw": pa.array([b"\xff\x00", None]),
        "price": pa.array([Decimal("1.50"), Decimal("12345678901234567.89")], pa.decimal128(30, 2)),
        "obj": pa.array([{"a": 1, "b": None}, None], pa.struct([("a", pa.int32()), ("b", pa.string())])),
        "list": pa.array([[1, None], []], pa.list_(pa.int16())),
        "map": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
        "none": pa.nulls(2),
    }
)
ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "big": 2**64 - 1,
        "f": 1.5,
        "s": "x",
        "at": "1970-01-01T00:00:01Z",
        "ns": "1970-01-01T00:00:01.000000123Z",
        "day": "2026-11-01",
        "clock": "10:30:00.000000",
        "raw": "/wA=",
        "price": 1.5,
        "obj": {"a": 1, "b": None},
        "list": [1, None],
        "map": {"k": 1},
        "none": None,
    },
    {
        "id": 2,
        "big": 5,
        "f": None,
        "s": None,
        "at": None,
        "ns": "1970-01-01T00:00:00.000000000Z",
        "day": None,
        "clock": None,
        "raw": None,
        "price": Decimal("12345678901234567.89"),
        "obj": None,
        "list": [],
        "map": {},
        "none": None,
    },
]


def parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def arrow(table: pa.Table, *, stream: bool) -> bytes:
    out = io.BytesIO()
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def test_arrow_and_parquet_of_every_type() -> None:
    assert rows_of("a", arrow(TABLE, stream=True)) == ROWS
    assert rows_of("a.arrow", arrow(TABLE, stream=False)) == ROWS
    plain = TABLE.drop_columns(["clock"])  # whose unit Parquet changes
    assert rows_of("a", parquet(plain)) == [{name: row[name] for name in plain.column_names} for row in ROWS]


@pytest.mark.parametrize("names", [["id", "f", "s", "at", "day", "obj", "list", "none"], ["id"], ["id", "obj"]])
def test_typed_columns_are_taken_as_they_are(names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """They give the same rows as one by one."""
    from lochan.engines.duckdb.load import loader

    monkeypatch.setattr(loader, "rows_of", lambda batch: pytest.fail("read row by row"))
    expected = [{name: row[name] for name in names} for row in ROWS]
    (made,) = load_rows(TABLE.select(names), POOL)
    assert made.rows() == expected


def test_decimals_stay_decimals_and_are_taken_many_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [Decimal("0.1"), Decimal("-99999.9999999999"), Decimal("0.0000000012"), Decimal(10) ** 17, None, Decimal(0)]
    long = Decimal("0.12345678901234567891")

    values = [*few, long]
    monkeypatch.setattr("lochan.engines.duckdb.load.loader.rows_of", None)  # one by one
    column = pa.array(values, pa.decimal128(38, 20))
    inside = pa.StructArray.from_arrays([column], ["d"])
    [made] = load_rows(pa.table({"id": list(range(len(values))), "d": column, "o": inside}), POOL)
    assert made.table["d#d"].to_pylist() == made.table["o#.d#d"].to_pylist() == values
    assert [row["d"] for row in made.rows()] == [0.1, -99999.9999999999, 1.2e-9, 1e17, None, 0.0, long]


def test_columns_of_several_inputs_meet_in_one_object() -> None:
    """x is an int in one, a text in the other, and missing in the third."""
    from lochan.engines.duckdb.load.loader import Loader
    from lochan.engines.duckdb.session import DuckSession
    from lochan.pools.json_row import Faults
    from tests.unit.engines.load.load_text import LIMITS, _made

    tables = [
        pa.table({"id": [3, 1], "x": [1, 2], "o": [{"a": 1}, None]}),
        pa.table({"id": [2], "x": ["s"], "o": [{"b": "t"}]}),
        pa.table({"id": [0], "l": [[1, 2]]}),
        pa.table({"id": [9], "l": [["a"]], "o": [5]}),
    ]
    with DuckSession(LIMITS, ordered=False) as session:
        loader = Loader(session, POOL, Faults())
        for table in tables:
            loader.take_rows(table)
        made = _made(loader)
    rows = sorted((row for each in made for row in each.rows()), key=lambda row: row["id"])
    assert rows == sorted((row for table in tables for row in table.to_pylist()), key=lambda row: row["id"])


def test_rows_of_python() -> None:
    at = datetime(2026, 11, 1, 10, tzinfo=UTC)
    (made,) = load_rows([{"id": 2, "at": at}, {"id": 1, "at": date(2026, 1, 2)}], parse(["at"]))
    assert made.rows() == [{"id": 1, "at": "2026-01-02"}, {"id": 2, "at": "2026-11-01T10:00:00Z"}]
    for bad in ([1], [{"a": b"x"}], [{"a": {1: 2}}], [{"a": object()}]):
        with pytest.raises(Invalid, match="is not a row"):
            load_rows(bad, POOL)


@pytest.mark.parametrize(
    "name, data, message",
    [
        pytest.param("a.json", b"[1, 2]", "a row must be an object", id="numbers"),
        pytest.param("a.json", b'[{"id": 1}, 5]', "a.json:1: a row must be an object", id="a number behind a row"),
        pytest.param("a.json", b'[{"id": 1}', "ends too early", id="a list without its end"),
        pytest.param("a.json", b'{"id": 1', "ends too early", id="an object without its end"),
        pytest.param("a.json", b'[{"id": 1}] x', "after the end of the list", id="something behind a list"),
        pytest.param("a.csv", b"id,id\n1,2\n", "the column 'id' occurs twice", id="a column twice"),
        pytest.param("a.csv", b"id,b\n1,2\n1,2,3\n", "a.csv:3: 3 values where there are 2 columns", id="columns"),
        pytest.param("a.csv", b"", "no line with the columns' names", id="empty CSV"),
        pytest.param("a.csv", b"id\n\xff\n", "UTF8", id="CSV that is no UTF-8"),
        pytest.param("a", b"what is this", "the format cannot be detected", id="nothing that is known"),
        pytest.param("a", b"PAR1" + b"x" * 100, "this is not a complete parquet file", id="Parquet without a footer"),
        pytest.param("a", parquet(TABLE.select(["id"]))[:-20], "this is not a complete parquet file", id="cut Parquet"),
        pytest.param("a", arrow(TABLE, stream=False)[:-30], "this is not a complete arrow file", id="cut Arrow file"),
        pytest.param("a", arrow(TABLE, stream=True)[:200], "this is not a complete arrow file", id="cut Arrow stream"),
        pytest.param("a.gz", gzip.compress(b'{"id":1}\n' * 9999)[:-20], "it ends too early", id="cut gzip"),
        pytest.param("a.zst", b"\x28\xb5\x2f\xfdnothing", "the zstd data cannot be unpacked", id="broken zstd"),
    ],
)
def test_what_is_damaged_is_refused(name: str, data: bytes, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        load_file(name, data, POOL)


def test_a_bomb_is_refused_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from lochan.ingest import streams

    monkeypatch.setattr(streams, "UNPACKED_BYTES_MIN", 1 << 20)
    monkeypatch.setattr(streams, "RATIO_MAX", 100)
    bomb = gzip.compress(b'{"id":1}' + b" " * (8 << 20))
    with pytest.raises(Invalid, match="bytes have become more than"):
        load_file("a.ndjson.gz", bomb, POOL)
    assert rows_of("a.ndjson.gz", bomb, LoaderOptions(unpacked_bytes_max=1 << 30)) == [{"id": 1}]
