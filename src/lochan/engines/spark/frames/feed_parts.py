"""Divides the rows that a stream reads of a pool into parts for tasks, each of which runs the plan over a few objects
on the embedded engine.

In the change feed, each row has its kind of change and its commit. The objects that a commit has rewritten are compared
by one task, as rows of the stream's columns: rows that are equal on both sides are not changes."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from lochan.clock import SystemClock
from lochan.engines.duckdb.files import files_of, gone_error
from lochan.engines.duckdb.limits import Limits
from lochan.engines.duckdb.run import scan_names, with_files
from lochan.engines.duckdb.session import DuckSession
from lochan.engines.spark.executors import TASK_MEMORY_BYTES
from lochan.engines.spark.frames.feed_plan import ADDED, REMOVED, FeedPlan, FeedSide
from lochan.engines.spark.frames.field_order import in_order_of
from lochan.engines.spark.frames.typed_columns import arrow, arrow_schema
from lochan.errors import Invalid
from lochan.ids import Ids
from lochan.pools.feed import FeedSpan
from lochan.pools.snapshot import DataObject
from lochan.query.dialects import render
from lochan.query.output.columns import Column
from lochan.store.open import StoreLocation

CHANGE_TYPE, COMMIT, COMMIT_TIME = "_change_type", "_commit", "_commit_time"
CHANGE_SCHEMA = pa.schema(
    [(CHANGE_TYPE, pa.string()), (COMMIT, pa.string()), (COMMIT_TIME, pa.timestamp("us", tz="UTC"))]
)
INSERT, DELETE = "insert", "delete"
_PART_BYTES = 32 << 20  # objects are read together up to this
_FOLDER = "/lochan-objects-of-this-task/"  # in the SQL of a part; a task replaces it by the folder of the objects


class FeedScan(NamedTuple):
    """The plan over some objects alone."""

    sql: str
    objects: tuple[DataObject, ...]


class FeedChange(NamedTuple):
    """A change of rows: its kind, its commit, and its time in microseconds since 1970."""

    type: str
    commit: str
    time: int


class FeedPart(NamedTuple):
    rows: FeedScan
    change: FeedChange | None = None  # None if only the rows are requested
    without: FeedScan | None = None  # rows that are on the other side too, which are not changes


@dataclass(frozen=True)
class FeedTask:
    """A task of a batch. It can be pickled."""

    place: StoreLocation
    row: Column
    wide: frozenset[tuple[str, ...]]
    part: FeedPart

    def read(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yields the rows of the part. Raises Invalid for columns that do not fit the schema, Gone, or Corrupt."""
        for batch in self._compare_sides() if self.part.without else self._rows(self.part.rows):
            yield _cast_batch(batch, self.part.change, schema)

    def _rows(self, scan: FeedScan) -> Iterator[pa.RecordBatch]:
        with tempfile.TemporaryDirectory(prefix="lochan-") as folder:
            root = asyncio.run(self._link_objects(scan, folder))
            with DuckSession(_LIMITS, folders=[*root, folder]) as session:
                sql = scan.sql.replace(_FOLDER, f"{folder}/".replace("'", "''"))
                for batch in session.stream(sql):
                    yield arrow(batch, self.row, self.wide)

    async def _link_objects(self, scan: FeedScan, folder: str) -> list[str]:
        """Links each object, or a copy, by its number in the folder."""
        files = files_of(self.place.open(clock=SystemClock(), ids=Ids()))
        paths = await files.place(scan.objects, folder)
        for number, (object, path) in enumerate(zip(scan.objects, paths, strict=True)):
            if not path:
                raise gone_error(object)
            (Path(folder) / str(number)).symlink_to(path)
        return files.folders

    def _compare_sides(self) -> Iterator[pa.RecordBatch]:
        """Compares both sides as rows of the stream: rows that are equal there are the same row."""
        assert self.part.without is not None
        with tempfile.TemporaryDirectory(prefix="lochan-") as folder, _session(folder) as session:
            for name, scan in (("these", self.part.rows), ("those", self.part.without)):
                self._keep(session, name, scan)
            yield from session.stream("FROM these EXCEPT ALL FROM those")

    def _keep(self, session: DuckSession, name: str, scan: FeedScan) -> None:
        reader = pa.RecordBatchReader.from_batches(arrow_schema(self.row, self.wide), self._rows(scan))
        with session.registered("incoming", reader):
            session.execute(f"CREATE TEMP TABLE {name} AS FROM incoming")


_LIMITS = Limits(TASK_MEMORY_BYTES, threads=1)


@contextmanager
def _session(folder: str) -> Iterator[DuckSession]:
    with DuckSession(_LIMITS, folders=[], temp=folder, ordered=False) as session:
        yield session


# --- on the driver ---------------------------------------------------------------------------------------------------
def feed_tasks(place: StoreLocation, planned: FeedPlan, span: FeedSpan, *, changes: bool) -> list[FeedTask]:
    read = planned.plan
    parts = _changed_parts(planned, span) if changes else _added_parts(planned)
    return [FeedTask(place.for_others(), read.row, read.wide, part) for part in parts]


def _added_parts(planned: FeedPlan) -> Iterator[FeedPart]:
    """Yields the parts of added objects. Objects of several commits may be read together."""
    together: dict[str, list[DataObject]] = {}
    for side, by_scan in planned.objects.items():
        for name, objects in by_scan.items() if side.side == ADDED else ():
            together.setdefault(name, []).extend(objects)
    yield from (FeedPart(scan) for scan in _scans(planned, together))


def _changed_parts(planned: FeedPlan, span: FeedSpan) -> Iterator[FeedPart]:
    if span.whole_at:
        objects = planned.objects.get(FeedSide(span.whole_at), {})
        time = span.whole_time
        yield from (FeedPart(scan, FeedChange(INSERT, span.whole_at, time)) for scan in _scans(planned, objects))
    for each in span.changes:
        added, removed = (planned.objects.get(FeedSide(each.id, side), {}) for side in (ADDED, REMOVED))
        insert, delete = (FeedChange(type, each.id, each.commit.date) for type in (INSERT, DELETE))
        if added and removed:
            one, other = _scan(planned, added), _scan(planned, removed)
            yield FeedPart(other, delete, one)
            yield FeedPart(one, insert, other)
        else:
            yield from (FeedPart(scan, delete) for scan in _scans(planned, removed))
            yield from (FeedPart(scan, insert) for scan in _scans(planned, added))


def _scans(planned: FeedPlan, by_scan: dict[str, list[DataObject]]) -> Iterator[FeedScan]:
    for name, objects in by_scan.items():
        for lot in _lots(objects):
            yield _scan(planned, {name: lot})


def _lots(objects: Sequence[DataObject]) -> Iterator[list[DataObject]]:
    held: list[DataObject] = []
    for each in objects:
        if held and sum(one.size for one in held) + each.size > _PART_BYTES:
            yield held
            held = []
        held.append(each)
    if held:
        yield held


def _scan(planned: FeedPlan, by_scan: dict[str, list[DataObject]]) -> FeedScan:
    query, scans = planned.plan.query, planned.plan.scans
    paths: dict[str, list[str]] = {name: [] for name in scan_names(query, scans)}
    objects: list[DataObject] = []
    for name, lot in by_scan.items():
        paths[name] = [f"{_FOLDER}{number}" for number in range(len(objects), len(objects) + len(lot))]
        objects += lot
    return FeedScan(render(with_files(query.copy(), scans, paths, some=True), "duckdb"), tuple(objects))


def _cast_batch(batch: pa.RecordBatch, change: FeedChange | None, schema: pa.Schema) -> pa.RecordBatch:
    """Casts the batch to the schema, which may be the user's own."""
    if change is not None:
        for field, value in zip(CHANGE_SCHEMA, change, strict=True):
            batch = batch.append_column(field, pa.repeat(pa.scalar(value, field.type), len(batch)))
    unknown = next((name for name in schema.names if name not in batch.schema.names), None)
    if unknown is not None:
        raise Invalid(f"the pool has no column `{unknown}`", hint="leave it out of the schema")
    try:
        arrays = [in_order_of(batch.column(each.name), each.type) for each in schema]
    except pa.ArrowInvalid as error:
        raise Invalid(f"a column is not as the schema says: {error}", hint="leave the schema out") from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
