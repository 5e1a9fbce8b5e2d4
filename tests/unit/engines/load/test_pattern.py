"""A pattern matches only texts of its shape, in RE2 as the engine has it."""

import json
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.engines.duckdb.load.shape_proof import pattern
from lochan.pools.json_row import BadRow, read_row, shape_of

VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(1 << 66), 1 << 66), st.floats(allow_nan=False), st.text(max_size=4)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=2), inner, max_size=3)),
    max_leaves=5,
)
ROWS = st.dictionaries(st.sampled_from("ab"), VALUES, max_size=2)


@pytest.fixture(scope="module")
def engine() -> Any:
    with duckdb.connect() as connection:
        yield connection


def matches(engine: Any, shape_text: str, text: str) -> bool:
    expression = pattern(shape_of(read_row(shape_text), [("ts",)]))
    if expression is None:
        return False
    ((found,),) = engine.execute("SELECT regexp_full_match(?, ?)", [text, expression]).fetchall()
    return bool(found)


@settings(max_examples=150, deadline=None)
@given(ROWS, ROWS, st.booleans())
@pytest.mark.thorough
def test_rows_of_other_shapes_never_match(engine: Any, row: dict[str, Any], other: dict[str, Any], ascii: bool) -> None:
    text, shape_text = json.dumps(row, ensure_ascii=ascii), json.dumps(other)
    try:
        same = shape_of(read_row(text)) == shape_of(read_row(shape_text))
    except BadRow:  # half of a surrogate pair, which only escapes can write; or an infinity
        return
    if matches(engine, shape_text, text):
        assert same


@pytest.mark.parametrize(
    "shape, text, expected",
    [
        ('{"a":1}', '{"a":1}', True),
        ('{"a":1}', ' { "a" : -123 } \r\n', True),
        ('{"a":1}', '{"a":8999999999999999999}', True),
        ('{"a":1}', '{"a":9223372036854775808}', False),
        ('{"a":1}', '{"a":01}', False),
        ('{"a":1}', '{"a":1.0}', False),
        ('{"a":1}', '{"a":"1"}', False),
        ('{"a":1}', '{"a":null}', False),
        ('{"a":1}', '{"a":1,"b":2}', False),
        ('{"a":1.5}', '{"a":0.123456789012345}', True),
        ('{"a":1.5}', '{"a":0.1000000000000000055511151231257827}', False),
        ('{"a":1.5}', '{"a":1.5e10}', True),
        ('{"a":1.5}', '{"a":1.5e400}', False),
        ('{"a":"x"}', '{"a":"\\u00e9\\ud83d\\ude00\\n\\/"}', True),
        ('{"a":"x"}', '{"a":"\\ud83d"}', False),
        ('{"a":"x"}', '{"a":"\\x"}', False),
        ('{"a":"x"}', '{"a":"\t"}', False),
        ('{"a":"x"}', '{"a":"😀"}', True),
        ('{"a":[1]}', '{"a":[null, 1,2 ,null]}', True),
        ('{"a":[1]}', '{"a":[]}', False),
        ('{"a":[1]}', '{"a":[null]}', False),
        ('{"a":[]}', '{"a":[ ]}', True),
        ('{"a":[null]}', '{"a":[null,null]}', True),
        ('{"a":[{"b":1,"c":"x"}]}', '{"a":[{"b":1,"c":"x"},{"b":null,"c":"y"},null]}', True),
        ('{"a":[{"b":1,"c":"x"}]}', '{"a":[{"c":"x","b":1}]}', False),
        ('{"a":[[]]}', '{"a":[[],[null]]}', False),
        ('{"ts":"2026-11-01T10:00:00Z"}', '{"ts":"2024-02-28T23:59:59Z"}', True),
        ('{"ts":"2026-11-01T10:00:00Z"}', '{"ts":"2024-02-30T23:59:59Z"}', False),
        ('{"ts":"2026-11-01T10:00:00Z"}', '{"ts":"2024-02-28T23:59:59.1Z"}', False),
        ('{"a.*+":1}', '{"a.*+":1}', True),
        ('{"a.*+":1}', '{"axx":1}', False),
        ("{}", "{}", True),
    ],
)
def test_what_matches(engine: Any, shape: str, text: str, expected: bool) -> None:
    assert matches(engine, shape, text) is expected


def test_what_is_kept_as_text_has_no_pattern() -> None:
    for text in ('{"a":123456789012345678901}', '{"a":[1,"x"]}', json.dumps({f"f{n}": n for n in range(500)})):
        assert pattern(shape_of(read_row(text))) is None
