"""Cached names of folders: a bounded stretch of them, without a gap."""

import pytest

from lochan.formats import entry_table
from lochan.formats.entry_table import FolderNames


@pytest.fixture
def names() -> FolderNames:
    """a/ in rows 0 to 4, b/ in 5 to 8, c/ in 9 to 11."""
    stretch = FolderNames(0)
    for name, end in (("a/", 5), ("b/", 9), ("c/", 12)):
        stretch.add(name, end)
    return stretch


@pytest.mark.parametrize(
    "row, stop, least, most, expected",
    [
        pytest.param(0, 12, 1, 9, (["a/", "b/", "c/"], 12), id="all"),
        pytest.param(5, 12, 1, 1, (["b/"], 9), id="so many"),
        pytest.param(0, 11, 1, 9, (["a/", "b/"], 9), id="those that end by the stop"),
        pytest.param(3, 12, 2, 9, (["a/", "b/", "c/"], 12), id="from the middle of a folder"),
        pytest.param(3, 12, 3, 9, ([], 3), id="too little of the first is left"),
        pytest.param(12, 20, 1, 9, ([], 12), id="behind all"),
        pytest.param(0, 12, 1, 0, ([], 0), id="none"),
    ],
)
def test_what_is_read(
    names: FolderNames, row: int, stop: int, least: int, most: int, expected: tuple[list[str], int]
) -> None:
    assert names.covers(row)
    assert names.read(row, stop, least, most) == expected


def test_the_older_half_goes_where_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_table, "NAMES_MAX", 4)
    stretch = FolderNames(0)
    for number in range(7):
        stretch.add(f"{number}/", 10 * (number + 1))
    assert not stretch.covers(39)
    assert stretch.covers(40)
    assert stretch.end == 70
    assert stretch.read(40, 70, 1, 9) == (["4/", "5/", "6/"], 70)
    assert stretch.read(55, 70, 1, 1) == (["5/"], 60)
