"""Which objects are merged: those that overlap, those that are small, and none twice."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.pools.compaction import OVERLAPPING, SMALL, partitions, plan
from lochan.pools.keys import Span, bounds, decode, encode, ends
from lochan.pools.upkeep import Policy

SETTINGS = PoolSettings((PoolKey(("k",)),), size_bytes=100)
FALLING = PoolSettings((PoolKey(("k",), True),), size_bytes=100)


def spans(*objects: tuple[Any, ...], settings: PoolSettings = SETTINGS) -> pa.Table:
    """Path, first and last key (None: no row has one), size, rows without the key."""
    rows = []
    for path, first, last, size, keyless in objects:
        ends = ["" if end is None else encode([end], settings).hex() for end in (first, last)]
        rows.append({"path": path, "rows": size, "keyless": keyless, "min": ends[0], "max": ends[1], "size": size})
    schema = {"path": pa.string(), "rows": pa.int64(), "keyless": pa.int64()}
    return pa.Table.from_pylist(rows, pa.schema({**schema, "min": pa.string(), "max": pa.string(), "size": pa.int64()}))


CASES = [
    pytest.param([], [], id="nothing"),
    pytest.param([("a", 1, 5, 90, 0), ("b", 6, 9, 90, 0)], [], id="apart"),
    pytest.param([("a", 1, 5, 90, 0), ("b", 5, 9, 90, 0), ("c", 5, 5, 90, 0)], [], id="touching"),
    pytest.param([("b", 4, 9, 90, 0), ("a", 1, 5, 90, 0)], [(OVERLAPPING, "ab", 2)], id="overlapping"),
    pytest.param([("a", 1, 9, 90, 0), ("b", 2, 3, 10, 0), ("c", 4, 5, 10, 0)], [(OVERLAPPING, "abc", 2)], id="within"),
    pytest.param([("a", 1, 5, 30, 0), ("b", 6, 7, 30, 0), ("c", 8, 9, 90, 0)], [(SMALL, "ab", 1)], id="small"),
    pytest.param([("a", 1, 5, 30, 0), ("c", 6, 7, 90, 0), ("b", 8, 9, 30, 0)], [], id="small, but not neighbours"),
    pytest.param(
        [("a", 1, 1, 40, 0), ("b", 2, 2, 40, 0), ("c", 3, 3, 40, 0), ("d", 4, 4, 40, 0), ("e", 5, 5, 40, 0)],
        [(SMALL, "ab", 1), (SMALL, "cd", 1)],
        id="small, as many as fit",
    ),
    pytest.param(
        [("a", 1, 5, 90, 2), ("b", 6, 9, 90, 0)], [(OVERLAPPING, "ab", 2)], id="rows without the key are last"
    ),
    pytest.param([("a", 1, 5, 90, 0), ("b", 6, 9, 90, 1), ("c", None, None, 90, 1)], [], id="nothing but such rows"),
]


@pytest.mark.parametrize("objects, expected", CASES)
def test_a_plan(objects: list[tuple[Any, ...]], expected: list[tuple[str, str, int]]) -> None:
    found = plan(spans(*objects), SETTINGS)
    assert [(group.why, "".join(group.paths), group.pieces) for group in found] == expected


def test_rows_without_the_key_are_first_where_they_count_as_the_least() -> None:
    first = PoolSettings((PoolKey(("k",)),), True, 100)
    table = spans(("a", 1, 5, 90, 0), ("b", 6, 9, 90, 2), settings=first)
    assert [group.paths for group in plan(table, first)] == [("b", "a")]
    table = spans(("a", 5, 1, 90, 0), ("b", 9, 6, 90, 2), settings=FALLING)
    assert plan(table, FALLING) == []


def test_only_what_was_asked_for_and_what_overlaps_it() -> None:
    table = spans(("a", 1, 5, 90, 0), ("b", 4, 9, 90, 0), ("c", 10, 15, 90, 0), ("d", 14, 19, 90, 0))
    assert [group.paths for group in plan(table, SETTINGS, only=["c"])] == [("c", "d")]
    assert [group.paths for group in plan(table, SETTINGS, within=bounds(0, 3, SETTINGS))] == [("a", "b")]
    assert [group.paths for group in plan(table, SETTINGS, within=bounds(9, 10, SETTINGS))] == [("a", "b"), ("c", "d")]
    assert plan(table, SETTINGS, only=["e"]) == plan(table, SETTINGS, within=bounds(20, None, SETTINGS)) == []


def test_a_few_that_overlap_are_small_together() -> None:
    """What several tasks wrote of one batch: too few to be merged for that alone, but not beside many others."""
    pairs = [(f"{at}{half}", 10 * at + half, 10 * at + half + 5, 15, 0) for at in range(5) for half in (0, 1)]
    found = plan(spans(*pairs), SETTINGS, policy=Policy(4, 3))
    assert [(group.why, len(group.paths)) for group in found] == [(SMALL, 6), (SMALL, 4)]
    assert plan(spans(*pairs), SETTINGS, policy=Policy(4, 8)) == []
    assert [group.why for group in plan(spans(*pairs), SETTINGS)] == [OVERLAPPING] * 5


def test_a_policy_leaves_a_few_alone() -> None:
    two = [("a", 1, 5, 90, 0), ("b", 4, 9, 90, 0)]
    small = [(name, at, at, 20, 0) for at, name in enumerate("cdef", start=10)]
    assert plan(spans(*two, *small), SETTINGS, policy=Policy(2, 4)) == []
    found = plan(spans(*two, ("z", 2, 3, 9, 0), *small), SETTINGS, policy=Policy(2, 3))
    assert [(group.why, len(group.paths)) for group in found] == [(OVERLAPPING, 3), (SMALL, 4)]


def test_partitions_are_told_with_their_keys() -> None:
    found = partitions(spans(("a", 1, 5, 90, 0), ("c", 7, 8, 7, 0), ("b", 4, 6, 10, 0)), SETTINGS)
    ends = [[decode(end, SETTINGS)[0] for end in (each.low, each.high)] for each in found]
    assert [each.paths for each in found] == [("a", "b"), ("c",)]
    assert (ends, [each.bytes for each in found]) == ([[1, 6], [7, 8]], [100, 7])


@pytest.mark.parametrize("settings", [SETTINGS, FALLING, PoolSettings((PoolKey(("k",)),), True, 100)])
def test_a_partition_has_the_ends_of_its_keys_also_where_rows_have_none(settings: PoolSettings) -> None:
    one, other = (
        (("a", 1, 5, 90, 2), ("b", 4, 6, 10, 0)) if settings != FALLING else (("a", 5, 1, 90, 2), ("b", 6, 4, 10, 0))
    )
    [found] = partitions(spans(one, other, settings=settings), settings)
    assert ends(Span(found.low, found.high), settings) == ([1], [6])
    assert (found.rows, found.keyless) == (100, 2)
    [bare] = partitions(spans(("a", None, None, 5, 5), settings=settings), settings)
    assert (bare.low, bare.high, bare.keyless) == (b"", b"", 5)


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(1, 120), st.sampled_from([0, 0, 0, 1])),
        max_size=12,
    )
)
@pytest.mark.thorough
def test_after_a_compaction_there_is_nothing_to_do(drawn: list[tuple[int, int, int, int]]) -> None:
    objects: dict[str, tuple[Any, ...]] = {
        f"{n}": (f"{n}", min(one, other), max(one, other), size, keyless)
        for n, (one, other, size, keyless) in enumerate(drawn)
    }
    for _ in range(3):  # small ones may come to stand beside each other
        groups = plan(spans(*objects.values()), SETTINGS)
        taken = [path for group in groups for path in group.paths]
        assert len(taken) == len(set(taken))
        for number, group in enumerate(groups):
            gone = [objects.pop(path) for path in group.paths]
            low, high = min(each[1] for each in gone), max(each[2] for each in gone)
            assert group.bytes == sum(each[3] for each in gone)
            keyless = sum(each[4] for each in gone)
            for piece in range(group.pieces):  # cut at the greatest key: they touch
                last = piece == group.pieces - 1
                name, start = f"{_}.{number}.{piece}", low if not piece else high
                objects[name] = (name, start, high, group.bytes // group.pieces, keyless if last else 0)
    assert plan(spans(*objects.values()), SETTINGS) == []
