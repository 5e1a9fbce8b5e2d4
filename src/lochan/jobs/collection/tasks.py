"""The work of executors in a garbage collection: they read trees and ranges, mark, list, compare, write and delete.

Every function may run twice for the same rows, at the same time or one after the other. Parts of a list have the name
of their content, only messages that Spark accepted name them, and a file can be deleted twice."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from lochan.clock import SystemClock
from lochan.concurrency import map_concurrently
from lochan.engines.spark.executors import open_on_executor, partition_of_task
from lochan.errors import LochanError
from lochan.formats import alias_table
from lochan.formats.collection_events import AliasNames
from lochan.formats.plan_list import ListPart
from lochan.formats.run import RunRef
from lochan.ids import Ids
from lochan.jobs.collection import metadata_files
from lochan.jobs.collection.mark_rows import encode, mark_rows, marks_of, read_marks
from lochan.jobs.collection.metadata_files import MetadataFile, decode_ref, file_rows, files_of
from lochan.jobs.collection.shards import span_of
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
    moved_files,
)
from lochan.versioning.collection.reasons import Evidence, ExpiredNames

_RANGES_AT_ONCE = 2  # a task has little memory, and others run beside it
_TOGETHER = 500_000  # spans that are compared with the aliases at once
T = TypeVar("T")


@dataclass(frozen=True)
class CollectionTarget:
    """The information that all tasks share, which is small. `look` has no trees, runs and blocks."""

    place: StoreLocation
    look: CollectionLook

    def open(self) -> Store:
        return open_on_executor(self.place, SystemClock(), Ids())

    @property
    def repository(self) -> str:
        return self.look.repository


# --- trees, and what they name ---------------------------------------------------------------------------------------
def read_trees(target: CollectionTarget, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Reads trees (FILE_SCHEMA). Yields their own files and their ranges."""
    trees = Trees(target.open(), target.repository)
    for batch in batches:
        yield file_rows(run_task(metadata_files.read_trees(trees, files_of(batch))))


def mark_files(
    target: CollectionTarget, bounds: Sequence[str], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Reads ranges and runs. Yields the files that hold the bytes of their entries (ROW_SCHEMA)."""
    store = target.open()
    reader, aliases = EntryReader(store, target.repository), alias_rows(store, target.look)
    for batch in batches:
        for task in batch.column("task").to_pylist():
            files = msgspec.msgpack.decode(task, type=tuple[MetadataFile, ...])
            yield mark_rows(_marks(reader, aliases, target.repository, files), bounds)


def _marks(
    reader: EntryReader, aliases: pa.Table, repository: str, files: Sequence[MetadataFile]
) -> Iterator[pa.Table]:
    """Yields marks as tables of MARK_SCHEMA."""
    spans: list[pa.Table] = []
    alive: list[pa.Array] = []
    for live, batch in reader.read(files):
        if not live:
            paths, folders = folders_named(batch, repository)
            yield marks_of(paths, live=False, folders=folders.to_arrow().cast(pa.string()))
            continue
        spans.append(block_spans(batch))
        if not len(aliases) or sum(map(len, spans)) > _TOGETHER:
            alive.append(live_below(_whole(spans), aliases, repository))
            spans = []
    if spans:
        alive.append(live_below(_whole(spans), aliases, repository))
    if alive:
        yield marks_of(pc.unique(pa.chunked_array(alive)))


class EntryReader:
    """Reads ranges and runs, and checks each against its name. A file that only expired commits name may be gone."""

    def __init__(self, store: Store, repository: str) -> None:
        self._trees = Trees(store, repository)
        self._runs = Runs(store, repository, SystemClock(), Ids())

    def read(self, files: Sequence[MetadataFile]) -> Iterator[tuple[bool, pa.RecordBatch]]:
        """Yields the entries of the files that exist, and whether something that is alive names them."""
        for start in range(0, len(files), _RANGES_AT_ONCE):
            some = files[start : start + _RANGES_AT_ONCE]
            for file, batch in zip(some, run_task(map_concurrently(self._read, some, _RANGES_AT_ONCE)), strict=True):
                if batch is not None:
                    yield file.live, batch

    async def _read(self, file: MetadataFile) -> pa.RecordBatch | None:
        with suppress(*(() if file.live else (LochanError,))):
            ref = decode_ref(file)
            if isinstance(ref, RunRef):
                return (await self._runs.open(ref)).batch
            return (await self._trees.ranges.load_all(ref)).batch
        return None


def alias_rows(store: Store, look: CollectionLook) -> pa.Table:
    async def load() -> Aliases:
        names: AliasNames = look.aliases
        tables = []
        for name in names.tables:
            path = f"{look.repository}/{name}"
            tables.append(await get_decoded(store, path, _alias_decoder(name, look.repository)))
        return Aliases(tables, dict(names.files))

    return run_task(load()).table


def _alias_decoder(name: str, repository: str) -> Any:
    return lambda data: alias_table.decode(name, data, repository)


def _whole(spans: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables(spans).combine_chunks()


# --- marks against the store, or against a list ----------------------------------------------------------------------
class ShardMessage(msgspec.Struct, frozen=True, array_like=True):
    """The result of a task about its shard."""

    shard: int
    totals: bytes  # totals of dead files, as Arrow
    files: int  # the number of all files
    size_bytes: int
    parts: tuple[ListPart, ...]


def collect_shard(
    target: CollectionTarget, bounds: Sequence[str], write: bool, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Compares the marks of one shard with the files that the store has in it."""
    shard, look = partition_of_task(), target.look
    marks, expired = LiveMarks(MarkSet(look.seed), look.folders), ExpiredNames(look.seed)
    for each in read_marks(batches):
        _add(each, marks, expired)
    store = target.open()
    evidence = Evidence(expired, moved_files(alias_rows(store, look), look.repository), look.journal)
    found = run_task(collect_span(store, look, marks, evidence, span_of(shard, bounds), write=write))
    yield result_row(ShardMessage(shard, encode(found.totals), found.files, found.bytes, found.parts))


def _add(table: pa.Table, marks: LiveMarks, expired: ExpiredNames) -> None:
    """Adds marks (MARK_SCHEMA)."""
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
    """Yields how many files of one part are marked."""
    part = parts[partition_of_task()]
    listed = run_task(read_part(target.open(), target.repository, part))["path"]
    named = held_open(listed, target.look.folders)
    for marks in read_marks(batches):
        named |= pc.is_in(listed, value_set=marks["path"]).to_numpy()
    yield result_row(int(named.sum()))


def delete_parts(target: CollectionTarget, tasks: Iterable[bytes]) -> Iterator[bytes]:
    store = target.open()
    for task in tasks:
        part, after = msgspec.msgpack.decode(task, type=tuple[ListPart, str])
        yield msgspec.msgpack.encode(run_task(delete_part(store, target.repository, part, after)))


def decode_shards(results: Iterable[bytes]) -> CollectedFiles:
    """Returns the sum of all results, in path order."""
    total = CollectedFiles()
    for each in sorted(
        (msgspec.msgpack.decode(data, type=ShardMessage) for data in results), key=lambda row: row.shard
    ):
        totals = pa.ipc.open_stream(each.totals).read_all()
        total += CollectedFiles(each.files, each.size_bytes, totals, each.parts)
    return total


def result_row(value: object) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"result": pa.array([msgspec.msgpack.encode(value)], pa.binary())})


def run_task(work: Coroutine[Any, Any, T]) -> T:
    with reports_errors():
        return asyncio.run(work)
