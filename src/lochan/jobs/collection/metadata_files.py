"""The files of metadata that a garbage collection must read: trees, and the ranges and runs with entries.

The driver holds a name and a count of each. A range has up to 50,000 entries, so a thousand million objects are some
twenty thousand names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

import msgspec
import numpy as np
import pyarrow as pa

from lochan.concurrency import map_concurrently
from lochan.errors import LochanError
from lochan.formats.metarange import TreeRef, with_bases
from lochan.formats.range import RangeRef
from lochan.formats.run import RunRef
from lochan.tree.trees import Trees
from lochan.versioning.bodies.aliases import NO_ALIASES
from lochan.versioning.collection.marks import CollectionLook, block_spans, live_below

TREE, RANGE, RUN = "tree", "range", "run"
BASE = "base"  # the base of patches: the file is needed, and its entries are named where the patches are read
_AT_ONCE = 8  # trees that are read at the same time
_SAMPLED_MAX = 16  # ranges in a sample, at most
_SAMPLED_SHARE = 20  # one range in so many is in the sample
_SAMPLE = 4_096  # addresses of each sampled range
_FILES_PER_TASK = 64
_ENTRIES_PER_TASK = 200_000


class MetadataFile(msgspec.Struct, frozen=True, array_like=True):
    """A file of metadata, with what is needed to read it, and whether something that is alive names it."""

    file: str
    kind: str
    ref: bytes
    entries: int
    live: bool


FILE_SCHEMA = pa.schema(
    [
        pa.field("file", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("ref", pa.binary()),
        pa.field("entries", pa.int64()),
        pa.field("live", pa.bool_()),
    ]
)
SPARK_FILES = "file string, kind string, ref binary, entries bigint, live boolean"


def file_rows(files: Iterable[MetadataFile]) -> pa.RecordBatch:
    columns = list(zip(*(msgspec.structs.astuple(each) for each in files), strict=True)) or [()] * len(FILE_SCHEMA)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, FILE_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=FILE_SCHEMA)


def files_of(rows: pa.RecordBatch | pa.Table) -> list[MetadataFile]:
    return [MetadataFile(**row) for row in rows.to_pylist()]


def trees_of(look: CollectionLook) -> list[MetadataFile]:
    """Returns the trees, each once."""
    live = {tree.file: tree for tree in look.roots.trees}
    expired = {tree.file: tree for tree in look.expired if tree.file not in live}
    return [
        MetadataFile(tree.file, TREE, msgspec.msgpack.encode(tree), 0, alive)
        for trees, alive in ((live, True), (expired, False))
        for tree in trees.values()
    ]


def runs_of(look: CollectionLook) -> list[MetadataFile]:
    return [MetadataFile(run.file, RUN, msgspec.msgpack.encode(run), run.count, True) for run in look.roots.runs]


async def read_trees(trees: Trees, files: Sequence[MetadataFile]) -> list[MetadataFile]:
    """Returns the trees themselves and their ranges, each once. An expired tree that cannot be read is left out. Raises
    Corrupt or Gone for one that is alive."""

    async def read(file: MetadataFile) -> list[MetadataFile]:
        with suppress(*(() if file.live else (LochanError,))):
            ranges = (await trees.open(msgspec.msgpack.decode(file.ref, type=TreeRef))).ranges
            encode = msgspec.msgpack.encode
            bases = with_bases(ranges)[len(ranges) :]
            return [
                file,
                *(MetadataFile(each.file, RANGE, encode(each), each.count, file.live) for each in ranges),
                *(MetadataFile(each.file, BASE, encode(each), 0, file.live) for each in bases),
            ]
        return []

    found: dict[tuple[str, str], MetadataFile] = {}
    for start in range(0, len(files), _AT_ONCE):
        for some in await map_concurrently(read, files[start : start + _AT_ONCE], _AT_ONCE):
            for each in some:
                if each.live or (each.file, each.kind) not in found:
                    found[each.file, each.kind] = each
    return [*found.values()]


def work_of(files: Iterable[MetadataFile]) -> Iterator[tuple[MetadataFile, ...]]:
    """Groups the files that have entries into portions for one task each."""
    held: list[MetadataFile] = []
    entries = 0
    for file in files:
        if file.kind in (TREE, BASE):
            continue
        if held and (entries + file.entries > _ENTRIES_PER_TASK or len(held) == _FILES_PER_TASK):
            yield tuple(held)
            held, entries = [], 0
        held.append(file)
        entries += file.entries
    if held:
        yield tuple(held)


# --- a sample of what is alive, for the bounds of shards -------------------------------------------------------------
class LiveSample(msgspec.Struct, frozen=True):
    paths: tuple[str, ...] = ()
    files: int = 0  # the approximate number of files; one that several ranges name counts for each


async def sample(trees: Trees, files: Sequence[MetadataFile], repository: str) -> LiveSample:
    """Returns some addresses of some ranges, as if nothing had an alias: bounds need not be exact. Names begin with
    hashes, so the first few are a random choice."""
    ranges = sorted((each for each in files if each.kind == RANGE and each.live), key=lambda each: each.file)
    few = ranges[: min(_SAMPLED_MAX, max(2, len(ranges) // _SAMPLED_SHARE))]
    paths: list[str] = []
    named = 0
    for each in few:
        rows = await trees.ranges.load_all(msgspec.msgpack.decode(each.ref, type=RangeRef))
        own = live_below(block_spans(rows.batch), NO_ALIASES.table, repository)
        named += len(own)
        places = np.linspace(0, max(len(own) - 1, 0), min(_SAMPLE // len(few), len(own))).astype(int)
        paths += own.take(pa.array(places)).to_pylist()
    entries = sum(each.entries for each in few)
    total = sum(each.entries for each in files if each.live)
    return LiveSample(tuple(paths), round(total * named / entries) if entries else total)


def decode_ref(file: MetadataFile) -> RangeRef | RunRef:
    if file.kind == RUN:
        return msgspec.msgpack.decode(file.ref, type=RunRef)
    return msgspec.msgpack.decode(file.ref, type=RangeRef)
