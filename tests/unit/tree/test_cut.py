"""Where ranges end is part of the format: the first version made these cuts, and every other makes the same."""

from collections.abc import Awaitable

import pyarrow as pa
import pytest

from lochan.tree.assemble import STANDARD, Assembler, RangeCut
from lochan.tree.rows import Stretch
from tests.unit.tree.small_trees import run

PATHS = pa.array([f"warehouse/events/part-{number:07d}.parquet" for number in range(300_000)])


def sizes(cut: RangeCut, paths: pa.StringArray) -> list[int]:
    """Computed by the rule itself, without the code that makes trees."""
    found, start = [], 0
    while start < len(paths):
        first = cut.first(paths[start + cut.least - 1 : start + cut.most])
        end = start + (cut.most if first < 0 else cut.least + first)
        found.append(min(end, len(paths)) - start)
        start = end
    return found


def test_the_cuts_of_the_standard_are_these() -> None:
    assert (STANDARD.least, STANDARD.modulus, STANDARD.most) == (25_000, 25_000, 150_000)
    assert sizes(STANDARD, PATHS) == [25818, 26960, 57192, 62334, 56631, 43496, 25785, 1784]


def test_a_slice_is_cut_as_the_same_paths_alone() -> None:
    cut = RangeCut(1, 1_000, 10_000)
    alone = pa.array(PATHS[100_000:120_000].to_pylist())
    assert cut.first(PATHS[100_000:120_000]) == cut.first(alone) >= 0


@pytest.mark.parametrize("path", ["a", "é" * 100, "warehouse/\n🐟", "x" * 1024])
def test_a_range_closes_where_the_rule_cuts_it(path: str) -> None:
    for modulus in range(1, 40):
        cut = RangeCut(5, modulus, 9)
        divides = cut.first(pa.array([path])) == 0
        assert [cut.closes(path, count) for count in (4, 5, 8, 9)] == [False, divides, divides, True]


def test_no_path_no_cut() -> None:
    assert STANDARD.first(pa.array([], pa.string())) == -1


def test_rows_may_come_in_pieces() -> None:
    cut = RangeCut(3, 5, 12)
    paths = PATHS[:500]
    for piece in (1, 2, 7, 100, 500):
        assert run(_assembled(cut, paths, piece)) == sizes(cut, paths)


async def _assembled(cut: RangeCut, paths: pa.StringArray, piece: int) -> list[int]:
    from lochan.formats.range import RangeRef
    from lochan.store.threads import Threads

    written = []

    async def name(entries: pa.Table) -> RangeRef:
        return RangeRef("", "", "", "", 0, 0)

    async def write(entries: pa.Table, named: Awaitable[RangeRef]) -> None:
        await named
        written.append(entries.num_rows)

    async def load(ref: RangeRef) -> None: ...

    assembler = Assembler(cut, load, name, write, Threads(), 1)  # type: ignore[arg-type]
    for low in range(0, len(paths), piece):
        await assembler.add_rows(Stretch(pa.record_batch([paths[low : low + piece]], ["path"])))
    await assembler.finish()
    return written
