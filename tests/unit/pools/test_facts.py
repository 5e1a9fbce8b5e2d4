"""Facts are read back from an entry's metadata, and a table of entries gives its spans at once."""

import base64
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.errors import Corrupt
from lochan.formats.entry import Block, Entry
from lochan.formats.entry_table import table_of
from lochan.pools.facts import (
    ColumnFacts,
    Facts,
    ShapeFacts,
    facts_texts,
    from_metadata,
    is_ours,
    open_facts,
    spans,
    to_metadata,
    unpack_facts,
)
from lochan.pools.shape import Object, number_shapes, type_of
from tests.unit.pools.rows import ROWS


@pytest.mark.thorough
@given(st.lists(ROWS, max_size=5), st.binary(max_size=9), st.binary(max_size=9), st.booleans())
def test_facts_come_back(rows: list[dict[str, Any]], low: bytes, high: bytes, body: bool) -> None:
    shapes = number_shapes(shape for row in rows if isinstance(shape := type_of(row), Object))
    facts = Facts(
        len(rows),
        1,
        low,
        high,
        tuple(ShapeFacts(id, shape, 1) for id, shape in shapes.items()),
        (ColumnFacts(("a", "b#s"), "string", 3, "least", "greatest", True, b"\x01"),),
        body,
        keys=(("a", "b"),),
    )
    metadata = to_metadata(facts)
    assert from_metadata(metadata) == facts
    assert all(map(is_ours, metadata))


def test_spans_of_many_entries() -> None:
    entries = [_entry(f"{number}.parquet", Facts(number, 0, bytes([number]), b"\xff", ())) for number in range(3)]
    assert spans(table_of(entries)).to_pydict() == {
        "path": ["0.parquet", "1.parquet", "2.parquet"],
        "rows": [0, 1, 2],
        "keyless": [0, 0, 0],
        "min": ["00", "01", "02"],
        "max": ["ff", "ff", "ff"],
        "size": [7, 7, 7],
    }


def test_facts_of_which_only_some_are_decoded() -> None:
    columns = tuple(ColumnFacts(path, "int", 3, 1, 9, bloom=b"\x01" * 9) for path in (("a",), ("a", "b"), ("ab",)))
    [shape] = [each for each in [type_of({"a": 1})] if isinstance(each, Object)]
    entries = [
        _entry("one", Facts(1, 0, b"", b"", (ShapeFacts(5, shape, 1),), columns)),
        _entry("two", Facts(7, 0, b"", b"", (ShapeFacts(5, shape, 7),), columns[:1], sorted=False)),
        _entry("six", Facts(7, 0, b"", b"", (ShapeFacts(6, shape, 7),))),
    ]
    by_path = sorted(entries, key=lambda each: each.path)
    one, six, two = map(open_facts, map(unpack_facts, facts_texts(table_of(entries)).to_pylist()))
    assert [each.path for each in by_path] == ["one", "six", "two"]
    assert [one.column(each.path) for each in columns] == list(columns)
    assert (two.column(("a",)), two.column(("ab",)), six.column(("a",))) == (columns[0], None, None)
    assert one.form() == two.form() != six.form()
    assert (one.sorted, two.sorted) == (True, False)


def test_facts_are_compressed_where_they_are_large() -> None:
    many = tuple(ColumnFacts((f"column {number}",), "int", 3, 1, 9) for number in range(200))
    facts = Facts(1, 0, b"", b"", (), many)
    text = to_metadata(facts)["lochan-facts"]
    assert len(text) < int(text.partition(":")[0]) > 4096
    assert from_metadata(to_metadata(facts)) == facts
    assert open_facts(unpack_facts(text)).column(("column 7",)) == many[7]


def test_small_facts_were_compressed_too() -> None:
    """As the first version wrote them."""
    facts = Facts(1, 0, b"", b"", ())
    data = base64.b64decode(to_metadata(facts)["lochan-facts"].removeprefix("0:"))
    before = f"{len(data)}:{base64.b64encode(pa.compress(data, 'zstd', asbytes=True)).decode()}"
    assert from_metadata(to_metadata(facts) | {"lochan-facts": before}) == facts


@pytest.mark.parametrize("spoilt", ["", "9", "9:@@", "9:AAAA", "x:AAAA", "0:", "0:AAAA"])
def test_spoilt_facts_are_called_so(spoilt: str) -> None:
    metadata = to_metadata(Facts(1, 0, b"", b"", ()))
    with pytest.raises(Corrupt, match=r"'p\.parquet'"):
        from_metadata(metadata | {"lochan-facts": spoilt}, "p.parquet")
    with pytest.raises(Corrupt, match="the facts of a data object"):
        open_facts(unpack_facts(spoilt))


def _entry(path: str, facts: Facts) -> Entry:
    return Entry(path, (Block("a", 0, 7, b""),), 7, "0" * 32, "e", 0, metadata=to_metadata(facts))
