"""Rows put into others, as slices or row by row: the same rows."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lochan.formats.entry_table import as_batch, entries_of, table_of
from lochan.tree import rows
from tests.unit.tree.forest import entry


@pytest.mark.parametrize("slices_max", [0, 3, 64])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    fates=st.lists(st.sampled_from(["stays", "goes"]), max_size=9),
    places=st.lists(st.integers(0, 9), max_size=6).map(sorted),
)
def test_rows_are_spliced(
    slices_max: int, fates: list[str], places: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_SLICES_MAX", slices_max)
    old = [entry(f"old-{number}", metadata={"a": "b"}) for number in range(len(fates))]
    new = [entry(f"put-{number}") for number in range(len(places))]
    before = [min(place, len(old)) for place in places]
    gone = [number for number, fate in enumerate(fates) if fate == "goes"]
    expected = []
    for number in range(len(old) + 1):
        expected += [each for each, place in zip(new, before, strict=True) if place == number]
        expected += [each for each in old[number : number + 1] if number not in gone]
    made = rows.spliced(
        as_batch(table_of(old)), np.array(gone, np.int64), as_batch(table_of(new)), np.array(before, np.int64)
    )
    assert entries_of(pa.Table.from_batches([made])) == expected
