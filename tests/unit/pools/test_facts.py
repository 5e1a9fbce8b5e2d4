"""Facts come back from an entry's metadata, and a table of entries gives its spans at once."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.errors import Corrupt
from lochan.formats.entry import Block, Entry
from lochan.formats.entry_table import table_of
from lochan.pools.facts import ColumnFacts, Facts, ShapeFacts, from_metadata, is_ours, spans, to_metadata
from lochan.pools.shape import Object, numbered, type_of
from tests.unit.pools.rows import ROWS


@given(st.lists(ROWS, max_size=5), st.binary(max_size=9), st.binary(max_size=9), st.booleans())
def test_facts_come_back(rows: list[dict[str, Any]], low: bytes, high: bytes, body: bool) -> None:
    shapes = numbered(shape for row in rows if isinstance(shape := type_of(row), Object))
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


@pytest.mark.parametrize("spoilt", ["", "9", "9:@@", "9:AAAA", "x:AAAA"])
def test_spoilt_facts_are_called_so(spoilt: str) -> None:
    metadata = to_metadata(Facts(1, 0, b"", b"", ()))
    with pytest.raises(Corrupt, match=r"'p\.parquet'"):
        from_metadata(metadata | {"lochan-facts": spoilt}, "p.parquet")


def _entry(path: str, facts: Facts) -> Entry:
    return Entry(path, (Block("a", 0, 7, b""),), 7, "0" * 32, "e", 0, metadata=to_metadata(facts))
