"""A listing beside a tree: what differs is found, however the listing is cut, and equal ranges are not opened."""

import numpy as np
import pyarrow as pa
import pytest

from lochan.formats.range import RangeRef
from lochan.store.memory import MemoryStore
from lochan.tree.assemble import RangeCut
from lochan.tree.tree import Tree
from lochan.tree.trees import Trees
from lochan.versioning.bodies import listed_files
from lochan.versioning.bodies.file_list import ListedBatch, SortedFiles
from lochan.versioning.bodies.listed_files import LIST_SCHEMA, FileAddresses, as_entries
from lochan.versioning.heads.subtree import SubtreeRequest, compare, same_file
from tests.run import run

PLACE = FileAddresses("s3://bucket", "", "")
Files = dict[str, str]  # ETags by path


def listing(files: Files) -> pa.Table:
    paths = sorted(files)
    columns = [paths, [len(path) for path in paths], [files[path] for path in paths], [7] * len(paths)]
    return pa.table(columns, schema=LIST_SCHEMA)


def cut_up(files: Files, rows: int) -> SortedFiles:
    """In batches of so many rows, as pages of a bucket come."""
    table = listing(files)
    batches = [table.slice(at, rows).combine_chunks().to_batches()[0] for at in range(0, len(table), rows)]
    return SortedFiles([ListedBatch(batch, PLACE) for batch in batches])


class Opened:
    """A tree of the files, and which of its ranges were opened."""

    def __init__(self, files: Files) -> None:
        self.ranges: list[RangeRef] = []
        self.trees = Trees(MemoryStore(), "r", cut=RangeCut(20, 20, 60), seen=self._seen)
        self.tree: Tree = run(self.trees.build(as_entries(PLACE.located(listing(files))), 1))
        self.ranges.clear()

    def _seen(self, what: str, ref: RangeRef) -> None:
        if what == "open":
            self.ranges.append(ref)

    def differences(self, files: SortedFiles, *, remove: bool = True) -> dict[str, str]:
        async def found() -> dict[str, str]:
            told: dict[str, str] = {}
            async for part in compare(self.tree, files, SubtreeRequest("", same_file, remove)):
                told |= dict(zip(part.changes["path"].to_pylist(), part.kinds.to_pylist(), strict=True))
            return told

        return run(found())


def numbered(count: int) -> Files:
    return {f"f{number:05d}": f"{number:032x}" for number in range(count)}


@pytest.mark.parametrize("rows", [1, 7, 25, 1_000])
def test_an_unchanged_range_is_not_opened_however_the_listing_is_cut(rows: int) -> None:
    files = numbered(400)
    opened = Opened(files)
    assert len(opened.tree.ranges) > 5
    assert opened.differences(cut_up(files, rows)) == {}
    assert opened.ranges == []


@pytest.mark.parametrize("rows", [1, 7, 25, 1_000])
def test_only_the_range_of_a_changed_file_is_opened(rows: int) -> None:
    files = numbered(400)
    opened = Opened(files)
    assert opened.differences(cut_up(files | {"f00200": "0" * 32}, rows)) == {"f00200": "changed"}
    assert len({ref.file for ref in opened.ranges}) == 1


@pytest.mark.parametrize("seed", range(20))
def test_the_same_differences_are_found_however_the_listing_is_cut(seed: int) -> None:
    random = np.random.default_rng(seed)
    before = {path: etag for path, etag in numbered(300).items() if random.random() < 0.7}
    after = {path: etag for path, etag in numbered(300).items() if random.random() < 0.7 or path > "f00250"}
    after |= {path: "changed" for path in before if random.random() < 0.02}
    wanted = dict.fromkeys(after.keys() - before.keys(), "added")
    wanted |= dict.fromkeys(before.keys() - after.keys(), "removed")
    wanted |= {path: "changed" for path in after.keys() & before.keys() if after[path] != before[path]}
    opened = Opened(before)
    for rows in (1, 9, 40, 1_000):
        assert opened.differences(cut_up(after, rows)) == wanted
        kept = {path: kind for path, kind in wanted.items() if kind != "removed"}
        assert opened.differences(cut_up(after, rows), remove=False) == kept


@pytest.mark.parametrize("count", [0, 1, 65_535, 65_536, 65_537, 131_073])
def test_entries_of_any_number_have_all_their_columns(count: int) -> None:
    """Columns that are the same for all are shared between tables."""
    files = pa.table(
        [pa.array([f"{n:06d}" for n in range(count)], pa.string()), np.arange(count), ["0" * 32] * count, [7] * count],
        schema=LIST_SCHEMA,
    )
    entries = listed_files.as_entries(PLACE.located(files))
    entries.validate(full=True)
    assert len(entries) == count
    if count:
        last = entries.slice(count - 1).to_pylist()[0]
        block = {"address": f"s3://bucket/{count - 1:06d}", "offset": 0, "size": count - 1, "sha256": b""}
        assert last["blocks"] == [block]
        assert (last["checksum"], last["content_type"], last["parts"], last["metadata"]) == ("0" * 32, "", [], [])
