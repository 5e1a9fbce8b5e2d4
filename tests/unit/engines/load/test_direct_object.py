"""A few rows that are written without the engine make the very object that the loader makes, or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lochan.engines.duckdb.load.direct_object import ROWS_MAX, DirectObject, direct_object
from lochan.engines.duckdb.load.objects import FOOTER
from lochan.engines.duckdb.load.shape_inference import InferredRow
from lochan.engines.duckdb.session import DuckSession
from lochan.formats.pool_settings import PoolSettings
from lochan.pools.facts import Facts, from_metadata, to_metadata
from lochan.pools.json_row import read_row, shape_of
from lochan.pools.settings import parse
from tests.corpus.data import pools
from tests.unit.engines.load.load_text import LIMITS, Made, load_bytes
from tests.unit.engines.load.test_round_trip import KEYS, ROWS, WRITERS

# Mostly what the quick way holds, with some of what it must not.
_TEXTS = st.sampled_from(
    [
        "",
        "a",
        "é😀",
        "1",
        "2026-11-01T10:00:00Z",
        "2026-11-01",
        "2026-02-30",
        "2026-11-01T10:00:00.123+02:00",
        'q"\\\n\0',
    ]
)
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.sampled_from([0, -1, 2**53 + 1, 2**63 - 1, -(2**63), 2**63]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, 1e16]),
    _TEXTS,
)
_ALIKE = st.one_of(*(st.lists(each, max_size=3) for each in (st.integers(0, 9), _TEXTS, st.none(), st.booleans())))
_INNER = st.fixed_dictionaries({}, optional={"a": _SCALARS, "x#i": st.integers(0, 5), "l": _ALIKE})
_REGULAR = st.fixed_dictionaries(
    {},
    optional={
        "a": _SCALARS,
        "b": st.one_of(st.none(), _INNER),
        "ts": _TEXTS,
        "n": st.one_of(st.none(), st.integers(0, 99)),
        "l": _ALIKE,
        "o": st.one_of(st.none(), st.lists(st.one_of(st.none(), st.fixed_dictionaries({"x": st.integers(0, 3)})))),
        "_shape": st.integers(0, 3),
        "c d": st.floats(allow_nan=False, allow_infinity=False),
    },
)


def written(texts: list[str], pool: PoolSettings) -> DirectObject | None:
    rows = [read_row(text) for text in texts]
    return direct_object(
        [InferredRow(row, shape_of(row, pool.times), text) for row, text in zip(rows, texts, strict=True)], pool
    )


def same_as_loaded(texts: list[str], pool: PoolSettings) -> bool:
    """Whether the quick way holds them; then both ways are compared."""
    found = written(texts, pool)
    if found is None:
        return False
    (loaded,) = load_bytes("".join(f"{text}\n" for text in texts).encode(), pool)  # in one piece, as posts come
    mine = Made(from_metadata(to_metadata(found.facts)), pq.read_table(pa.BufferReader(found.data)))
    assert _plain(mine.facts) == _plain(loaded.facts)
    assert [(each.name, each.type) for each in mine.table.schema] == [
        (each.name, each.type) for each in loaded.table.schema
    ]
    assert _sorted(mine.table) == _sorted(loaded.table), "column by column"
    assert sorted(map(repr, mine.rows())) == sorted(map(repr, loaded.rows())), "as rows"
    return True


def _plain(facts: Facts) -> Facts:
    """Without filters."""
    columns = tuple(msgspec.structs.replace(each, bloom=b"") for each in facts.columns)
    return msgspec.structs.replace(facts, columns=columns)


def _sorted(table: pa.Table) -> list[str]:
    """Rows of one key are in no order."""
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.thorough
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(_REGULAR, WRITERS), min_size=1, max_size=12), KEYS, st.sampled_from(["first", "last"]))
def test_regular_rows(rows: list[tuple[dict[str, Any], Any]], key: tuple[str, ...], nulls: str) -> None:
    same_as_loaded([write(row) for row, write in rows], parse(key, nulls=nulls))


@pytest.mark.thorough
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(ROWS, WRITERS), min_size=1, max_size=6), KEYS, st.sampled_from(["first", "last"]))
def test_any_rows(rows: list[tuple[dict[str, Any], Any]], key: tuple[str, ...], nulls: str) -> None:
    same_as_loaded([write(row) for row, write in rows], parse(key, nulls=nulls))


@pytest.mark.thorough
@pytest.mark.parametrize("name", [each.name for each in pools()])
def test_the_rows_of_the_corpus(name: str) -> None:
    pool = next(each for each in pools() if each.name == name)
    texts = [
        text for row in pool.rows if "Infinity" not in (text := json.dumps(row, default=float)) and "NaN" not in text
    ]
    same_as_loaded(texts, parse(pool.keys)) if texts else None
    for text in texts:
        same_as_loaded([text], parse(pool.keys))


@pytest.mark.parametrize(
    "texts, key",
    [
        pytest.param(
            ['{"k":2,"host":"h","ok":true,"ms":1.5}', '{"k":1,"host":"g","ok":null,"ms":2.0}'], "k", id="plain"
        ),
        pytest.param(
            ['{"k":1}', '{"k":"a"}', '{"k":1.5}', '{"k":true}', '{"k":null}', "{}"], "k", id="keys of all kinds"
        ),
        pytest.param(
            ['{"k":1,"a":{"b":{"c":1}}}', '{"k":2,"a":{"b":null}}', '{"k":3,"a":null}'], "a.b.c", id="objects"
        ),
        pytest.param(
            ['{"k":1,"l":[1,null]}', '{"k":2,"l":[]}', '{"k":3,"l":null}', '{"k":4,"l":[2]}'], "k", id="lists"
        ),
        pytest.param(
            ['{"k":1,"l":[{"x":1,"y":[2]},null]}', '{"k":2,"l":[{"x":null,"y":[]}]}'], "k", id="lists of objects"
        ),
        pytest.param(['{"k":"2026-11-01T10:00:00Z"}', '{"k":"2026-11-01"}', '{"k":"no"}'], "k:time", id="times"),
        pytest.param(['{"k":1,"x#i":2,"_shape":3,"a b":4}'], "k", id="names"),
        pytest.param(['{"k":1,"e":{},"n":null,"a":[]}'], "k", id="nothing in them"),
        pytest.param(['{"k":1,"a":[1,"b"]}', '{"k":2,"o":{"a":1}}', '{"k":3,"o":{"a":{}}}'], "k", id="some as text"),
        pytest.param(['{"k":3}', '{"k":1}', '{"k":2}', '{"z":1}'], "k:desc", id="descending"),
        pytest.param(['{"k":"%s"}' % ("x" * 300), '{"k":"%s"}' % ("x" * 299)], "k", id="keys that are cut"),
        pytest.param(['{"k":1,"t":"%s"}' % ("x" * 20_000)], "k", id="a long text"),
        pytest.param(['{"k":"a\\u0000b"}', '{"k":"a"}'], "k", id="a NUL"),
        pytest.param(
            [json.dumps({"k": number % 7, f"f{number % 30}": number}) for number in range(200)], "k", id="many shapes"
        ),
    ],
)
def test_held(texts: list[str], key: str) -> None:
    assert same_as_loaded(texts, parse([key]))


@pytest.mark.parametrize(
    "texts, key",
    [
        pytest.param(['{"k":1}'], "", id="no key"),
        pytest.param(['{"k":1,"a":9223372036854775808}', '{"k":2,"a":1}'], "k", id="a number beyond 64 bits"),
        pytest.param(['{"k":"2026-11-01T10:00:00+02:00"}'], "k:time", id="a time with an offset"),
        pytest.param(['{"k":{"a":1}}'], "k", id="a key that is an object"),
        pytest.param(['{"k":1,"a":1,"A":2}'], "k", id="names that differ in case alone"),
        pytest.param(['{"k":1}'] * (ROWS_MAX + 1), "k", id="too many rows"),
    ],
)
def test_left_to_the_loader(texts: list[str], key: str) -> None:
    assert written(texts, parse([key] if key else ())) is None


def test_an_object_that_is_too_large_for_the_pool_is_left_to_the_loader() -> None:
    texts = [json.dumps({"k": number, "text": "x" * 100}) for number in range(100)]
    assert written(texts, parse(["k"], size_bytes=10_000)) is None
    assert written(texts, parse(["k"], size_bytes=1_000_000)) is not None


def test_the_engine_reads_the_same_types_and_footer() -> None:
    texts = ['{"k":1,"b":true,"f":1.5,"s":"x","t":"2026-11-01","o":{"i":1},"l":[1],"m":[{"x":[1]}]}']
    found = written(texts, parse(["k", "t:time"]))
    assert found is not None
    with DuckSession(LIMITS, ordered=False) as session:
        file = Path(session.folder) / "mine.parquet"
        file.write_bytes(found.data)
        described = session.execute(f"DESCRIBE SELECT * FROM '{file}'")
        assert [(name, type) for name, type, *_ in described] == [
            ("_shape", "INTEGER"),
            ("b", "BOOLEAN"),
            ("f", "DOUBLE"),
            ("k", "BIGINT"),
            ("l", "BIGINT[]"),
            ("m", "STRUCT(x BIGINT[])[]"),
            ("o", "STRUCT(i BIGINT)"),
            ("s", "VARCHAR"),
            ("t", "TIMESTAMP WITH TIME ZONE"),
        ]
    footer = pq.read_metadata(pa.BufferReader(found.data)).metadata
    assert json.loads(footer[FOOTER.encode()]) == [
        [each.id, json.loads(msgspec.json.encode(each.shape))] for each in found.facts.shapes
    ]
