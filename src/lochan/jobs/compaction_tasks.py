"""A compaction on executors: the objects to be merged, a sample of their keys, their rows divided by their keys, and
the rows of a part in order.

Data that differ between groups come to a task with its own data. Data that all tasks share, and that are sent to each,
do not grow with the groups, except for a few numbers of each group that is divided (`PartForms`)."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain

import msgspec
import numpy as np
import pyarrow as pa

from lochan.clock import SystemClock
from lochan.engines.duckdb.data_objects import entries_at, place_objects
from lochan.engines.duckdb.files import files_of
from lochan.engines.duckdb.load.key_order import Order
from lochan.engines.duckdb.load.objects import WrittenObject, blob_sql, sort_key
from lochan.engines.duckdb.rewrite import ObjectRewriter
from lochan.engines.duckdb.session import DuckSession
from lochan.engines.spark.executors import spark_folder
from lochan.formats.entry import Entry
from lochan.formats.entry_table import table_of
from lochan.ids import Ids
from lochan.jobs.compaction_plan import PoolCompactionPlan
from lochan.jobs.entry_runs import spill_messages
from lochan.jobs.load.shuffle import Received, records_to_send
from lochan.jobs.messages import PoolTarget, PutCounter, TaskMessage, reports_errors
from lochan.jobs.pool_writer import put
from lochan.jobs.tasks import split_entries
from lochan.pools.facts import Facts, ShapeFacts, from_metadata
from lochan.pools.forms import Form, Forms
from lochan.pools.snapshot import Owner, Snapshot
from lochan.query.sources.knowledge import Knowledge

SAMPLE_SCHEMA = "number int, weight double, key binary"
_SAMPLE = pa.schema([("number", pa.int32()), ("weight", pa.float64()), ("key", pa.binary())])
_SAMPLE_ROWS = 20_000  # rows that are sampled from a group
_LEAST_ROWS = 20  # rows that are sampled from an object, at least
_ROWS = "merged"
_KEY = '"#key"'  # no column of a layout has this name
_BATCH = 32_768


class MergeTask(msgspec.Struct, frozen=True, array_like=True):
    """Some objects of a group, or all of them, and the properties of the group: see `MergeGroup`."""

    group: int
    entries: tuple[Entry, ...]
    forms: tuple[Facts, ...]
    group_rows: int
    bounds: tuple[bytes, ...] = ()
    first: int = 0

    @property
    def rows(self) -> int:
        return sum(from_metadata(entry.metadata, entry.path).rows for entry in self.entries)


@dataclass(frozen=True, slots=True)
class MergeGroup:
    """A group of objects to merge. `forms` has, for each form of its objects, the facts that make it, so that a task
    with one object knows the layout of all."""

    entries: tuple[Entry, ...]
    forms: tuple[Facts, ...]
    rows: int
    pieces: int  # the number of objects that it becomes
    bounds: tuple[bytes, ...] = ()  # the sort keys between its parts
    first: int = 0  # the number of its first part among those of all groups

    @property
    def alone(self) -> bool:
        """Whether a single task merges the group. Rows that are text are not cut up: they have no columns for their
        keys."""
        return self.pieces == 1 or any(form.body for form in self.forms)

    def task(self, number: int, entries: tuple[Entry, ...]) -> MergeTask:
        """Returns the task for these entries of it. `number` is the group's own among all groups."""
        return MergeTask(number, entries, self.forms, self.rows, self.bounds, self.first)


@dataclass(frozen=True, slots=True)
class PartForms:
    """The forms of the rows of each part. Groups of one pool mostly have the same forms, which are kept once. It can be
    pickled."""

    forms: tuple[Facts, ...]
    firsts: tuple[int, ...]  # the first part of each group, ascending
    numbers: tuple[tuple[int, ...], ...]  # the numbers of the forms of each group

    @classmethod
    def of(cls, groups: Iterable[MergeGroup]) -> PartForms:
        several = sorted((group for group in groups if not group.alone), key=lambda group: group.first)
        number_of: dict[Facts, int] = {}
        numbers = [tuple(number_of.setdefault(form, len(number_of)) for form in group.forms) for group in several]
        return cls(tuple(number_of), tuple(group.first for group in several), tuple(numbers))

    def of_part(self, part: int) -> list[Facts]:
        return [self.forms[number] for number in self.numbers[bisect_right(self.firsts, part) - 1]]


def groups_of(plan: PoolCompactionPlan) -> Iterator[MergeGroup]:
    snapshot = plan.snapshot
    for group, indices in zip(plan.groups, plan.indices(), strict=True):
        pieces = max(1, round(group.bytes / snapshot.settings.size_bytes))
        yield MergeGroup(tuple(entries_at(snapshot, indices)), _forms(snapshot, indices), group.rows, pieces)


def split(groups: Iterable[MergeGroup]) -> list[MergeTask]:
    """Returns the tasks of the groups that are cut up."""
    return [
        group.task(number, lot)
        for number, group in enumerate(groups)
        if not group.alone
        for lot in split_entries(group.entries)
    ]


def _forms(snapshot: Snapshot, indices: Sequence[int]) -> tuple[Facts, ...]:
    """Returns the forms of these objects, without facts that differ between objects of one form."""
    found = {form_of(snapshot.facts(index)): None for index in indices}
    return tuple(found)


def form_of(facts: Facts) -> Facts:
    shapes = tuple(ShapeFacts(each.id, each.shape, min(each.rows, 1)) for each in facts.shapes)
    return Facts(
        rows=0,
        keyless=0,
        key_min=b"",
        key_max=b"",
        shapes=shapes,
        body=facts.body,
        keys=facts.keys,
        decimals=facts.decimals,
        times=facts.times,
    )


def alone(groups: Iterable[MergeGroup]) -> list[MergeTask]:
    """Returns the tasks of the groups that are merged alone."""
    return [group.task(number, group.entries) for number, group in enumerate(groups) if group.alone]


def merge_alone(target: PoolTarget, tasks: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
    """Merges whole groups, and puts the objects on the store."""
    with reports_errors():
        for task in _tasks(tasks):
            with _read(target, task, whole=False) as (_, rewriting):
                yield from spill_messages(target, store_written(target, rewriting.written()))


def sample(target: PoolTarget, tasks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields some keys of each group, each with the number of rows that it stands for."""
    with reports_errors():
        for task in _tasks(tasks):
            with _read(target, task, whole=True) as (session, rewriting):
                key, rows = _key_and_rows(rewriting, target)
                count = max(_LEAST_ROWS * len(task.entries), _SAMPLE_ROWS * task.rows // max(1, task.group_rows))
                found = session.table(f"SELECT {key} AS key FROM ({rows}) USING SAMPLE {count} ROWS")
            if len(found):
                yield _sample_batch(task, found["key"].combine_chunks().cast(pa.binary()))


def cut(target: PoolTarget, tasks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields all rows of the objects, for the parts that they belong to."""
    with reports_errors():
        for task in _tasks(tasks):
            with _read(target, task, whole=True) as (session, rewriting):
                key, rows = _key_and_rows(rewriting, target)
                part = _part(task.bounds, 0, len(task.bounds))
                keyed = f"SELECT {key} AS {_KEY}, * FROM ({rows})"
                for batch in session.stream(f"SELECT {part}, * EXCLUDE {_KEY} FROM ({keyed})", _BATCH):
                    parts = batch.column(0).to_numpy(zero_copy_only=False).astype(np.int32)
                    yield from records_to_send(batch.select(batch.schema.names[1:]), parts + np.int32(task.first))


def merge_part(target: PoolTarget, forms: PartForms, records: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
    """Writes the rows that `cut` sent here as one object on the store."""
    each = iter(records)
    first = next(each, None)
    if first is None:
        return
    facts = forms.of_part(first.column("part")[0].as_py())
    with reports_errors(), task_session(target) as session:
        knowledge = Knowledge(_known_forms(Forms(), facts))
        rewriting = ObjectRewriter(session, session, target.settings, knowledge, 0, whole=True)
        _take(session, rewriting, Received(chain([first], each)))
        yield from spill_messages(target, store_written(target, rewriting.written()))


@contextmanager
def _read(target: PoolTarget, task: MergeTask, *, whole: bool) -> Iterator[tuple[DuckSession, ObjectRewriter]]:
    """Opens the objects of a task for rewriting. With `whole`, they have the common layout of their group."""
    store = target.store(SystemClock(), Ids())
    files = files_of(store)
    snapshot = Snapshot([Owner(target.repository_id, "a compaction")], target.settings, [table_of(task.entries)])
    forms = Forms()
    with task_session(target, files.folders) as session, task_session(target) as spare:
        paths = asyncio.run(place_objects(files, snapshot, snapshot.all.tolist(), session.folder))
        size = int(snapshot.sizes.sum())
        knowledge = Knowledge(_known_forms(forms, task.forms))
        rewriting = ObjectRewriter(session, spare, target.settings, knowledge, size, whole=whole)
        by_form: dict[int, list[int]] = {}
        for index in paths:
            by_form.setdefault(knowledge.forms.index(forms.of(snapshot.facts(index))), []).append(index)
        for number, indices in by_form.items():
            rewriting.add(knowledge.forms[number], [paths[index] for index in indices])
        yield session, rewriting


def _key_and_rows(rewriting: ObjectRewriter, target: PoolTarget) -> tuple[str, str]:
    """Returns the SQL for the sort key of each row, and for the rows. All rows of a group have one layout."""
    numbered, [relation] = rewriting.laid_out()
    by = Order(relation.layout, target.settings, numbered.by_id).by()
    return (sort_key(by) if by else "''::BLOB"), relation.sql


def _take(session: DuckSession, rewriting: ObjectRewriter, received: Received) -> None:
    begun = False
    for chunk in received.chunks():
        assert isinstance(chunk, pa.RecordBatch)
        with session.registered("chunk", chunk):
            session.execute(f"INSERT INTO {_ROWS} FROM chunk" if begun else f"CREATE TABLE {_ROWS} AS FROM chunk")
        begun = True
    rewriting.add_laid_out(_ROWS)


def store_written(target: PoolTarget, files: Iterator[WrittenObject]) -> Iterator[TaskMessage]:
    clock, ids = SystemClock(), Ids()
    putting = PutCounter(target.store(clock, ids))
    writer = target.writer(putting.store, clock, ids)
    with asyncio.Runner() as runner:
        for written in files:
            yield putting.message(runner.run(put(writer, written)), written.facts.rows)


def _part(bounds: Sequence[bytes], low: int, high: int) -> str:
    """Returns SQL that computes how many of the bounds are not greater than the key, by a tree of comparisons."""
    if low == high:
        return f"{low}"
    middle = (low + high) // 2
    below, above = _part(bounds, low, middle), _part(bounds, middle + 1, high)
    return f"CASE WHEN {_KEY} < {blob_sql(bounds[middle])} THEN {below} ELSE {above} END"


def _known_forms(forms: Forms, every: Iterable[Facts]) -> list[Form]:
    return [forms.of(facts) for facts in every]


def _sample_batch(task: MergeTask, keys: pa.Array) -> pa.RecordBatch:
    count = len(keys)
    columns = [pa.repeat(task.group, count), pa.repeat(task.rows / count, count), keys]
    return pa.table(columns, names=_SAMPLE.names).cast(_SAMPLE).combine_chunks().to_batches()[0]


def task_session(target: PoolTarget, folders: Sequence[str] | None = None) -> DuckSession:
    """Opens a session. A task may have two of these within its limits."""
    limits = target.limits._replace(memory_bytes=target.limits.memory_bytes // 2)
    return DuckSession(limits, folders=folders, temp=target.temp or spark_folder(), ordered=False)


def _tasks(batches: Iterable[pa.RecordBatch]) -> Iterator[MergeTask]:
    for batch in batches:
        yield from (_decoder.decode(data) for data in batch.column("task").to_pylist())


_decoder = msgspec.msgpack.Decoder(MergeTask)
