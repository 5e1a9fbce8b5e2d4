"""Rows of a batch, one by one: the same as a walk over all paths."""

from itertools import groupby

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lochan.formats import entry_table
from lochan.formats.entry_table import EntryRows

# Few letters, so that paths name folders of others in their middle.
PATHS = st.lists(st.text("ab/é", min_size=1, max_size=7), min_size=1, max_size=40, unique=True)


def rows_of(paths: list[str]) -> EntryRows:
    return EntryRows(pa.record_batch([pa.array(sorted(paths, key=str.encode))], ["path"]))


@pytest.mark.thorough
@pytest.mark.parametrize("remembered", [2, 2_048])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    paths=PATHS,
    delimiter=st.sampled_from(["/", "a/", "é"]),
    skip=st.integers(0, 3),
    least=st.integers(1, 3),
    most=st.integers(0, 5),
    starts=st.lists(st.integers(0, 39), min_size=1, max_size=4),
    stop=st.integers(0, 40),
)
def test_folders_are_those_of_the_paths(
    remembered: int,
    paths: list[str],
    delimiter: str,
    skip: int,
    least: int,
    most: int,
    starts: list[int],
    stop: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(entry_table, "NAMES_MAX", remembered)
    rows, mark = rows_of(paths), delimiter.encode()
    keys = [rows.path(row) for row in range(rows.count)]

    def folder(row: int) -> bytes:
        end = keys[row].find(mark, skip)
        return keys[row][: end + len(mark)] if end >= 0 else b""

    def expected(start: int, stop: int) -> tuple[list[str], int]:
        names, row = list[str](), start
        for name, group in groupby(range(start, rows.count), key=folder):
            size = len(list(group))
            if not name or size < least or row + size > stop or len(names) == most:
                break
            names.append(name.decode())
            row += size
        return names, row

    for start in [*starts, *starts]:  # a second time from what is remembered, and from the middle of it
        for end in (rows.count, min(stop, rows.count)):
            asked = min(start, rows.count)
            assert rows.folders(asked, end, skip, mark, least, most) == expected(asked, end)


@pytest.mark.thorough
@settings(deadline=None)
@given(paths=PATHS, key=st.text("ab/é", max_size=7))
def test_a_search_ends_where_a_walk_does(paths: list[str], key: str) -> None:
    rows = rows_of(paths)
    below = [path for path in paths if path.encode() < key.encode()]
    assert rows.seek(key.encode()) == len(below)
    assert (rows.find(key.encode()) >= 0) is (key in paths)
