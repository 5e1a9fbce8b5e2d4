"""What executors do in a garbage collection: they read trees and ranges, mark, list, compare, write and delete.

Every function may run twice for the same rows, at the same time or one after the other: parts of a list have the name
of their content, only messages that Spark took name them, and a file can be deleted twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from lochan.clock import SystemClock
from lochan.concurrency import map_concurrently
from lochan.engines.spark.executors import open_on_executor, partition_of_task
from lochan.errors import LochanError
from lochan.formats import alias_table
from lochan.formats.collection_events import AliasNames
from lochan.formats.metarange import TreeRef
from lochan.formats.plan_list import ListPart
from lochan.formats.range import RangeRef
from lochan.formats.run import RunRef
from lochan.ids import Ids
from lochan.jobs.collection.shards import shards_of, span_of
from lochan.jobs.messages import reports_errors
from lochan.staging.runs import Runs
from lochan.store.checked_reads import get_decoded
from lochan.store.open import StoreLocation
from lochan.store.protocol import Store
from lochan.tree.trees import Trees
from lochan.versioning.bodies.aliases import Aliases
from lochan.versioning.collection.engine import CollectedFiles, collect_span, delete_part, read_part
from lochan.versioning.collection.mark_set import MarkSet
from lochan.versioning.collection.marks import (
    CollectionLook,
    LiveMarks,
    block_spans,
    folders_named,
    held_open,
    live_below,
)
from lochan.versioning.collection.reasons import ExpiredNames

TREE, RANGE, RUN = "tree", "range", "run"
# Files of metadata: what each is, how to read it, and whether something that is alive names it.
FILE_SCHEMA = pa.schema(
    [
        pa.field("file", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("ref", pa.binary()),
        pa.field("entries", pa.int64()),
        pa.field("live", pa.bool_()),
    ]
)
# Files that something names. `folder` is that of the logical path, where only expired commits name it.
MARK_SCHEMA = pa.schema(
    [
        pa.field("shard", pa.int32()),
        pa.field("path", pa.string()),
        pa.field("live", pa.bool_()),
        pa.field("folder", pa.string()),
    ]
)
SPARK_FILES = "file string, kind string, ref binary, entries bigint, live boolean"
SPARK_MARKS = "shard int, path string, live boolean, folder string"
_AT_ONCE = 8  # trees
_RANGES_AT_ONCE = 2  # a task has little memory, and others run beside it
_TOGETHER = 500_000  # spans that are compared with the aliases at once
_SAMPLE = 64  # addresses of a range
T = TypeVar("T")


@dataclass(frozen=True)
class CollectionTarget:
    """What every task must know; small. `look` has no trees, runs and blocks."""

    place: StoreLocation
    look: CollectionLook

    def open(self) -> Store:
        return open_on_executor(self.place, SystemClock(), Ids())

    @property
    def repository(self) -> str:
        return self.look.repository


def file_rows(rows: Iterable[tuple[str, str, bytes | None, int, bool]]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(FILE_SCHEMA)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, FILE_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=FILE_SCHEMA)


def mark_rows(
    paths: pa.Array, bounds: Sequence[str], *, live: bool = True, folders: pa.Array | None = None
) -> pa.RecordBatch:
    count = len(paths)
    named = pa.nulls(count, pa.string()) if folders is None else folders
    columns = [shards_of(paths, bounds), paths, pa.array(np.full(count, live)), named]
    return pa.RecordBatch.from_arrays(columns, schema=MARK_SCHEMA)


# --- trees, and what they name ---------------------------------------------------------------------------------------
def read_trees(target: CollectionTarget, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Of trees (FILE_SCHEMA): themselves, and their ranges. An expired tree that cannot be read is left out."""
    trees = Trees(target.open(), target.repository)

    async def read(row: dict[str, Any]) -> list[tuple[str, str, bytes | None, int, bool]]:
        ref, live = msgspec.msgpack.decode(row["ref"], type=TreeRef), row["live"]
        with suppress(*(() if live else (LochanError,))):
            ranges = (await trees.open(ref)).ranges
            made = ((each.file, RANGE, msgspec.msgpack.encode(each), each.count, live) for each in ranges)
            return [(ref.file, TREE, None, 0, live), *made]
        return []

    for rows in _pieces(batches):
        for found in _run(map_concurrently(read, rows, _AT_ONCE)):
            yield file_rows(found)


def mark_files(
    target: CollectionTarget, bounds: Sequence[str], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Of files (FILE_SCHEMA): themselves, and the files that hold the bytes of their entries (MARK_SCHEMA)."""
    store = target.open()
    reader, aliases = _EntryReader(store, target.repository), _aliases(store, target.look)
    spans: list[pa.Table] = []
    for rows in _pieces(batches):
        for live in (True, False):
            names = [row["file"] for row in rows if row["live"] is live]
            yield mark_rows(pa.array(names, pa.string()), bounds, live=live)
        for live, batch in reader.read(rows):
            if not live:
                paths, folders = folders_named(batch, target.repository)
                yield mark_rows(paths, bounds, live=False, folders=folders.to_arrow().cast(pa.string()))
                continue
            spans.append(block_spans(batch))
            if not len(aliases) or sum(map(len, spans)) > _TOGETHER:
                yield mark_rows(live_below(_whole(spans), aliases, target.repository), bounds)
                spans = []
    if spans:
        yield mark_rows(live_below(_whole(spans), aliases, target.repository), bounds)


def sample_files(target: CollectionTarget, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Some addresses of each range."""
    store = target.open()
    reader, aliases = _EntryReader(store, target.repository), _aliases(store, target.look)
    for rows in _pieces(batches):
        for _, batch in reader.read(rows):
            paths = live_below(block_spans(batch), aliases, target.repository)
            places = np.linspace(0, max(len(paths) - 1, 0), min(_SAMPLE, len(paths))).astype(int)
            yield pa.RecordBatch.from_arrays([paths.take(pa.array(places))], names=["path"])


class _EntryReader:
    """Reads ranges and runs, each checked against its name. What only expired commits name may be gone."""

    def __init__(self, store: Store, repository: str) -> None:
        self._trees = Trees(store, repository)
        self._runs = Runs(store, repository, SystemClock(), Ids())

    def read(self, rows: Sequence[dict[str, Any]]) -> Iterator[tuple[bool, pa.RecordBatch]]:
        """The entries of those that have some and are there, and whether something that is alive names them."""
        rows = [row for row in rows if row["kind"] != TREE]
        for start in range(0, len(rows), _RANGES_AT_ONCE):
            some = rows[start : start + _RANGES_AT_ONCE]
            for row, batch in zip(some, _run(map_concurrently(self._read, some, _RANGES_AT_ONCE)), strict=True):
                if batch is not None:
                    yield row["live"], batch

    async def _read(self, row: dict[str, Any]) -> pa.RecordBatch | None:
        with suppress(*(() if row["live"] else (LochanError,))):
            if row["kind"] == RUN:
                return (await self._runs.open(msgspec.msgpack.decode(row["ref"], type=RunRef))).batch
            return (await self._trees.ranges.load_all(msgspec.msgpack.decode(row["ref"], type=RangeRef))).batch
        return None


def _aliases(store: Store, look: CollectionLook) -> pa.Table:
    async def load() -> Aliases:
        names: AliasNames = look.aliases
        tables = []
        for name in names.tables:
            path = f"{look.repository}/{name}"
            tables.append(await get_decoded(store, path, _alias_decoder(name, look.repository)))
        return Aliases(tables, dict(names.files))

    return _run(load()).table


def _alias_decoder(name: str, repository: str) -> Any:
    return lambda data: alias_table.decode(name, data, repository)


def _whole(spans: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables(spans).combine_chunks()


# --- marks against the store, or against a list ----------------------------------------------------------------------
class ShardMessage(msgspec.Struct, frozen=True, array_like=True):
    """What a task has found in its shard."""

    shard: int
    totals: bytes  # of dead files, as Arrow
    files: int  # all that there are
    size_bytes: int
    parts: tuple[ListPart, ...]


def collect_shard(
    target: CollectionTarget, bounds: Sequence[str], write: bool, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The marks of one shard are compared with what the store has in it."""
    shard, look = partition_of_task(), target.look
    marks, expired = LiveMarks(MarkSet(look.seed), look.folders), ExpiredNames(look.seed)
    for batch in batches:
        _add(batch, marks, expired)
    found = _run(collect_span(target.open(), look, marks, expired, span_of(shard, bounds), write=write))
    yield _result(ShardMessage(shard, _ipc(found.totals), found.files, found.bytes, found.parts))


def _add(batch: pa.RecordBatch, marks: LiveMarks, expired: ExpiredNames) -> None:
    table = pa.Table.from_batches([batch]).filter(pc.is_valid(batch.column("path")))
    if not len(table):
        return
    marks.files.add(table.filter(table["live"])["path"])
    rest = table.filter(pc.invert(table["live"]))
    unnamed = rest.filter(pc.is_null(rest["folder"]))
    expired.add(unnamed["path"].combine_chunks())
    named = rest.filter(pc.is_valid(rest["folder"]))
    if len(named):
        expired.add(named["path"].combine_chunks(), pl.Series(named["folder"]))


def check_part(
    target: CollectionTarget, parts: Sequence[ListPart], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """How many files of one part are marked."""
    part = parts[partition_of_task()]
    listed = _run(read_part(target.open(), target.repository, part))["path"]
    named = held_open(listed, target.look.folders)
    for batch in batches:
        named |= pc.is_in(listed, value_set=batch.column("path"), skip_nulls=True).to_numpy()
    yield _result(int(named.sum()))


def delete_parts(target: CollectionTarget, tasks: Iterable[bytes]) -> Iterator[bytes]:
    store = target.open()
    for task in tasks:
        part, after = msgspec.msgpack.decode(task, type=tuple[ListPart, str])
        yield msgspec.msgpack.encode(_run(delete_part(store, target.repository, part, after)))


def decode_shards(results: Iterable[bytes]) -> CollectedFiles:
    """All of them as one, in path order."""
    total = CollectedFiles()
    for each in sorted(
        (msgspec.msgpack.decode(data, type=ShardMessage) for data in results), key=lambda row: row.shard
    ):
        totals = pa.ipc.open_stream(each.totals).read_all()
        total += CollectedFiles(each.files, each.size_bytes, totals, each.parts)
    return total


def _ipc(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _result(value: object) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"result": pa.array([msgspec.msgpack.encode(value)], pa.binary())})


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[list[dict[str, Any]]]:
    for batch in batches:
        yield batch.to_pylist()


def _run(work: Coroutine[Any, Any, T]) -> T:
    with reports_errors():
        return asyncio.run(work)
