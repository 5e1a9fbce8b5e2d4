"""Rows inserted as slices or one by one are the same. Comparing two batches gives what a dict would give."""

from bisect import bisect_left, bisect_right

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from lochan.formats.entry_table import as_batch, entries_of, table_of
from lochan.tree import rows
from tests.unit.tree.small_trees import entry


@pytest.mark.thorough
@pytest.mark.parametrize("slices_max", [0, 3, 64])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    fates=st.lists(st.sampled_from(["stays", "goes"]), max_size=9),
    places=st.lists(st.integers(0, 9), max_size=6).map(sorted),
    untested=st.none() | st.integers(0, 12),
)
def test_rows_are_spliced(
    slices_max: int, fates: list[str], places: list[int], untested: int | None, monkeypatch: pytest.MonkeyPatch
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
    assume(gone or before)
    made = rows.splice_rows(
        as_batch(table_of(old)), np.array(gone, np.int64), as_batch(table_of(new)), np.array(before, np.int64), untested
    )
    assert entries_of(pa.Table.from_batches([each.batch for each in made])) == expected
    for batch, ends in made:
        assert ends is None or list(ends) == sorted(set(ends))
        names = batch.column("path").to_pylist()
        may_end = names if ends is None else [names[row] for row in ends]
        # The last row of the range, and those that it was too short to end after, may be anywhere; so may what is new.
        must = {each.path for each in [*old[: untested or 0], *old[-1:], *new]}
        assert must.intersection(names) <= set(may_end)


@pytest.mark.thorough
@pytest.mark.parametrize(("stride", "long"), [(1, 1), (3, 2), (64, 4_096)])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    left=st.dictionaries(st.integers(0, 12), st.integers(0, 2), max_size=10),
    right=st.dictionaries(st.integers(0, 12), st.integers(0, 2), max_size=10),
)
def test_rows_are_compared(
    stride: int, long: int, left: dict[int, int], right: dict[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("_STRIDE", stride), ("_FEW", 1), ("_LONG", long)):
        monkeypatch.setattr(rows, name, value)
    names = {number: f"p{number:02d}" for number in range(13)}
    one, other = (
        {names[at]: entry(f"{names[at]}={content}") for at, content in side.items()} for side in (left, right)
    )
    batches = [as_batch(table_of(side.values())) for side in (one, other)]
    found = rows.compare(*batches)
    paths = sorted(path for path in {*one, *other} if one.get(path) != other.get(path))
    assert found.paths.to_pylist() == paths
    for batch, numbers, side in zip(batches, found[1:], (one, other), strict=True):
        there = batch.column("path").to_pylist()
        assert [there[row] if row >= 0 else None for row in numbers] == [
            path if path in side else None for path in paths
        ]


@pytest.mark.parametrize("after", ["", "a", "a/", "a/x", "b", "z", "\U0001f600"])
@pytest.mark.parametrize("prefix", ["", "a", "a/", "ü"])
def test_a_span_holds_what_begins_so_and_comes_behind(prefix: str, after: str) -> None:
    within = rows.span(prefix, after)
    assert within.low <= within.high
    for path in ("a", "a/", "a/x", "a/y", "b", "z", "ü", "üü", "\U0001f600"):
        assert (within.low <= path.encode() < within.high) == (path.startswith(prefix) and path > after)


PATHS = st.lists(st.text(st.sampled_from("aé\x00/🐟"), max_size=3), unique=True).map(
    lambda each: sorted(each, key=str.encode)
)


@settings(deadline=None)
@given(paths=PATHS.filter(bool), wanted=PATHS, behind=st.booleans(), cut=st.integers(0, 9))
def test_paths_are_searched_alike_with_an_older_arrow(
    paths: list[str], wanted: list[str], behind: bool, cut: int
) -> None:
    texts = [each.encode() for each in paths]
    find = bisect_right if behind else bisect_left
    expected = [find(texts, each.encode()) for each in wanted]
    whole = pa.array(paths, pa.string())
    parts = pa.chunked_array([whole[:cut], whole[cut:]], pa.string())
    for array in (whole, pa.array(["", *paths], pa.string())[1:], parts):
        for search in (rows.first_rows, rows.halve):
            assert search(array, pa.array(wanted, pa.string()), behind=behind).tolist() == expected
