"""When and where small objects are merged, and how much is rewritten for it."""

import pytest

from lochan.engines.spark.place import SparkPlace
from lochan.errors import Invalid
from lochan.jobs.streams.compaction import FAN, CompactionSchedule, compaction_options, compaction_place

_SIZE = 64 << 20


def sizes(commits: int, each: int = 1_000) -> dict[int, int]:
    """After which commits objects are merged, and into which size."""
    rhythm = CompactionSchedule(_SIZE)
    found = {number: rhythm.landed(each) for number in range(1, commits + 1)}
    return {number: request.size_bytes for number, request in found.items() if request is not None}


def test_eight_into_one_and_eight_of_those_into_one() -> None:
    found = sizes(FAN**3)
    assert list(found) == list(range(FAN, FAN**3 + 1, FAN))
    assert (found[FAN], found[2 * FAN], found[FAN**2], found[FAN**3]) == (10_000, 10_000, 80_000, 640_000)


def test_what_was_merged_is_not_small_in_the_next_round() -> None:
    """Less than half of the size is small; what eight commits become may be smaller than they were."""
    merged = FAN * 1_000 * 0.65
    assert merged > sizes(FAN)[FAN] / 2


def test_never_more_than_the_pools_own_size() -> None:
    assert sizes(FAN, each=_SIZE)[FAN] == _SIZE
    assert sizes(FAN, each=0)[FAN] == 1


def test_where_small_objects_are_merged() -> None:
    assert [compaction_place(each) for each in (True, False, "driver", "spark", "none")] == [
        "driver", "none", "driver", "spark", "none"
    ]  # fmt: skip
    with pytest.raises(Invalid, match="compact='cluster'"):
        compaction_place("cluster")
    assert compaction_options("driver").engine == "duckdb"
    there = compaction_options("spark", SparkPlace("spark://h:7077"))
    assert (there.engine, there.spark.master) == ("spark", "spark://h:7077")
