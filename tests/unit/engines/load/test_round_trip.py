"""Rows come back unchanged through the real path, whatever they hold and however they are written."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lochan.pools import keys
from lochan.pools.facts import ColumnFacts
from lochan.pools.json_row import read_row, row_text, shape_of
from lochan.pools.keys import Instant
from lochan.pools.settings import parse
from lochan.pools.times import format_of
from lochan.pools.times import parse as parse_time
from tests.unit.engines.load.load_text import Made, load_texts

NAMES = st.sampled_from(
    ["a", "b", "ts", "A", "c d", "x#i", "_shape", "_body", "é", 'q"', "n.m", "", "#", "$", "a\0", "'"]
)
TEXTS = st.one_of(
    st.text(alphabet=st.characters(codec="utf-8"), max_size=8),
    st.sampled_from(["", "1", "true", "null", "2026-11-01T10:00:00Z", "2026-02-29", '\\"\n', "\0", "😀", "a" * 300]),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 70), 1 << 70),
    st.sampled_from([0, 1, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 10**18, 9 * 10**18 + 5]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, 0.1, 1e300, 5e-324, 0.30000000000000004, 1e16, 123456789.123]),
    TEXTS,
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=8,
)
ROWS = st.dictionaries(NAMES, VALUES, max_size=5)
WRITERS = st.sampled_from(
    [
        lambda row: json.dumps(row, ensure_ascii=False, separators=(",", ":")),
        lambda row: json.dumps(row),
        lambda row: f"  {json.dumps(row, ensure_ascii=False, separators=(' , ', ' :  '))}\r",
    ]
)
KEYS = st.sampled_from([(), ("a",), ("a:desc",), ("ts:time",), ("b.a", "ts:time:desc"), ("a", "b")])


@pytest.mark.thorough
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(ROWS, WRITERS), min_size=1, max_size=12), KEYS, st.sampled_from(["first", "last"]))
def test_any_rows_come_back(rows: list[tuple[dict[str, Any], Any]], key: tuple[str, ...], nulls: str) -> None:
    texts = [write(row) for row, write in rows]
    pool = parse(key, nulls=nulls)
    made = load_texts(texts, pool)
    expected = sorted(row_text(read_row(text)) for text in texts)
    assert sorted(row_text(row) for each in made for row in each.rows()) == expected
    assert sorted(row_text(read_row(line)) for each in made for line in _lines(each)) == expected
    for each in made:
        _check_facts(each, key, nulls)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"a":0.1000000000000000055511151231257827}', id="a decimal that no double gives back"),
        pytest.param('{"a":[1e400,123456789012345678901234567890]}', id="numbers beyond all types, in a list"),
        pytest.param('{"a":{"b":1E+2,"c":-0,"d":1.50}}', id="numbers written in unusual ways"),
        pytest.param('{"a":"\\u00e9\\ud83d\\ude00\\/"}', id="escapes"),
        pytest.param('{"\\u0061":1}', id="an escape in a name"),
        pytest.param('{"a":' * 60 + "1" + "}" * 60, id="deep objects"),
        pytest.param('{"a":' + "[" * 200 + "]" * 200 + "}", id="deep lists"),
        pytest.param(json.dumps({f"f{n}": n for n in range(10_000)}), id="ten thousand fields"),
        pytest.param(json.dumps({"a": "x" * 5_000_000}), id="a huge string"),
        pytest.param("{}", id="nothing"),
        pytest.param('{"a":[],"b":{},"c":[null],"d":[[]],"e":[{}],"f":null}', id="empty things"),
        pytest.param(
            '{"a":[{"x":1,"y":null},null,{"x":null,"y":"s"}],"b":[[1],[],[null]]}', id="nulls inside of lists"
        ),
    ],
)
def test_extreme_rows_come_back(text: str) -> None:
    (made,) = load_texts([text], parse(["a"]))
    (row,) = made.rows()
    assert row_text(row) == row_text(read_row(text))
    (line,) = _lines(made)
    assert row_text(read_row(line)) == row_text(read_row(text))


@pytest.mark.thorough
def test_a_thousand_shapes_and_more_come_back() -> None:
    texts = [json.dumps({"ts": number, f"f{number}": [number, str(number)]}) for number in range(1_500)]
    made = load_texts(texts, parse(["ts"]))
    assert {each.facts.body for each in made} == {False, True}
    rows = [row for each in made for row in each.rows()]
    assert sorted(rows, key=lambda row: row["ts"]) == [json.loads(text) for text in texts]
    for each in made:
        assert [row["ts"] for row in each.rows()] == sorted(row["ts"] for row in each.rows())


def _lines(made: Made) -> list[str]:
    return made.ndjson().decode().split("\n")[:-1]


def _check_facts(made: Made, key: tuple[str, ...], nulls: str) -> None:
    pool, facts = parse(key, nulls=nulls), made.facts
    rows = made.rows()
    assert facts.rows == len(rows) and (not facts.shapes or sum(each.rows for each in facts.shapes) == len(rows))
    found = [_key(row, key) for row in rows]
    with_key = [keys.encode(each, pool) for each in found if None not in each]
    assert facts.keyless == len(rows) - len(with_key)
    if not key:  # the text is the engine's
        for end, row in ((facts.key_min, rows[0]), (facts.key_max, rows[-1])):
            assert len(end) == keys.BYTES_MAX or keys.decode(end, pool) == [row]
    else:
        assert all(facts.key_min <= each <= facts.key_max for each in with_key)
    if key and not any(isinstance(part, dict | list) or _beyond(part) for each in found for part in each):
        encoded = [keys.encode(each, pool) for each in found]
        assert encoded == sorted(encoded)
    for row in rows if facts.shapes else []:
        _check_columns(shape_of(row, pool.times), row, facts.columns)


def _key(row: dict[str, Any], key: tuple[str, ...]) -> list[Any]:
    return [_value(row, part) for part in key] or [row]


def _value(row: Any, part: str) -> Any:
    path, _, marks = part.partition(":")
    for name in path.split("."):
        row = row.get(name) if isinstance(row, dict) else None
    return Instant(parse_time(row)) if "time" in marks and isinstance(row, str) and format_of(row) else row


def _beyond(value: Any) -> bool:
    return isinstance(value, int) and not -(1 << 63) <= value < 1 << 63


def _check_columns(shape: Any, row: dict[str, Any], columns: tuple[ColumnFacts, ...]) -> None:
    """Bounds bound: for the fields whose column has the field's own name."""
    by_path = {each.path: each for each in columns}
    for name, kind in shape.fields:
        facts = by_path.get((name,))
        value = row[name]
        if facts is None or facts.kind != kind or facts.least is None or (isinstance(value, str) and facts.cut):
            continue
        assert facts.greatest is not None and facts.least <= value <= facts.greatest
