"""The key that rows suggest, and the kind of an input."""

import json

import pytest

from lochan.engines.duckdb.load.sample import suggest
from lochan.errors import Invalid
from lochan.ingest.input_format import detect, packing

AT = "2026-11-01T10:00:00Z"


@pytest.mark.parametrize(
    "rows, key",
    [
        ([{"a": 1, "ts": AT}], "ts:time"),
        ([{"seen": AT, "created_at": AT, "timestamp": AT}], "timestamp:time"),
        ([{"when": AT, "inner": {"ts": AT}}], "when:time"),
        ([{"inner": {"a.b": AT}}], "inner.`a.b`:time"),
        ([{"time": 1762000000, "b": 5}], "time"),
        ([{"b": 5, "c": "2026"}], ""),
        ([{"ts": AT}] * 9 + [{}], "ts:time"),
        ([{"ts": AT}] * 8 + [{}, {}], ""),
        ([], ""),
    ],
)
def test_a_key_is_suggested(rows: list[dict[str, object]], key: str) -> None:
    assert suggest(rows) == key


@pytest.mark.parametrize(
    "name, head, expected",
    [
        ("x", b'{"a":1}\n{"a":2}', "ndjson"),
        ("x.json", b'{"a":1}\n{"a":2}', "ndjson"),
        ("x.json", b'{"a":1}{"a":2}', "json"),
        ("x.json", b'{\n"a":1}', "json"),
        ("x.json", b'{"a":1}', "ndjson"),
        ("x", b" \n [ {}]", "json"),
        ("x.ndjson", b"{broken", "ndjson"),
        ("x.csv", b"a,b\n", "csv"),
        ("x.csv.gz", b"a,b\n", "csv"),
        ("x.CSV.ZST", b"a,b\n", "csv"),
        ("x.csv", b'{"a":1}\n', "csv"),
        ("x.tsv", b"a\tb\n", "tsv"),
        ("x.log", b"hello", "lines"),
        ("x.log", b'{"a":1}\n', "ndjson"),
        ("x.csv", b"PAR1....", "parquet"),
        ("x", b"ARROW1\0\0", "arrow"),
        ("x", b"\xff\xff\xff\xff\x10", "arrow"),
        ("x", b"", "ndjson"),
        ("x", b'\xef\xbb\xbf[{"a":1}]', "json"),
        ("x", json.dumps({"a": "x" * 100_000}).encode()[: 64 << 10], "ndjson"),
    ],
)
def test_a_format_is_told_by_content_then_by_name(name: str, head: bytes, expected: str) -> None:
    assert detect(name, head) == expected


def test_what_cannot_be_told_is_asked_for() -> None:
    with pytest.raises(Invalid, match="choose it with -i"):
        detect("x", b"hello")
    assert [packing(head) for head in (b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd\x04", b"{}", b"")] == [
        "gzip",
        "zstd",
        None,
        None,
    ]
