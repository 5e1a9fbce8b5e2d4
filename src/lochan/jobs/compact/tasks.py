"""What executors do in a compaction: tell some keys, cut up rows by their keys, put those of a part in order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

import msgspec
import numpy as np
import pyarrow as pa

from lochan.clock import SystemClock
from lochan.engines.duckdb.files import files_of
from lochan.engines.duckdb.load.key_order import Order
from lochan.engines.duckdb.load.objects import WrittenObject, blob_sql, sort_key
from lochan.engines.duckdb.objects_at import placed
from lochan.engines.duckdb.rewrite import Rewriting
from lochan.engines.duckdb.session import Session
from lochan.formats.entry_table import table_of
from lochan.ids import Ids
from lochan.jobs.compact.merging import Group, Merging, Task
from lochan.jobs.failing import told
from lochan.jobs.load.shuffled import Received, sent
from lochan.jobs.messages import Message
from lochan.jobs.parts import put, spark_folder
from lochan.jobs.putting import Putting
from lochan.jobs.target import Target
from lochan.pools.forms import Form, Forms
from lochan.pools.snapshot import Owner, Snapshot
from lochan.query.sources.knowledge import Knowledge

SAMPLE_SCHEMA = "number int, weight double, key binary"
_SAMPLE = pa.schema([("number", pa.int32()), ("weight", pa.float64()), ("key", pa.binary())])
_SAMPLE_ROWS = 20_000  # of a group
_LEAST_ROWS = 20  # of an object
_ROWS = "merged"
_KEY = '"#key"'  # no column of a layout is called so
_BATCH = 32_768


def merge_alone(merging: Merging, tasks: Iterable[pa.RecordBatch]) -> Iterator[Message]:
    """Whole groups: objects on the store."""
    with told():
        for task in _tasks(tasks):
            with _read(merging, task, whole=False) as (_, rewriting):
                yield from _stored(merging.target, rewriting.written())


def sample(merging: Merging, tasks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Some keys of each group, and for how many rows each of them stands."""
    with told():
        for task in _tasks(tasks):
            group = merging.groups[task.group]
            with _read(merging, task, whole=True) as (session, rewriting):
                key, rows = _keyed(rewriting, merging.target)
                count = max(_LEAST_ROWS * len(task.entries), _SAMPLE_ROWS * task.rows // max(1, group.rows))
                found = session.table(f"SELECT {key} AS key FROM ({rows}) USING SAMPLE {count} ROWS")
            if len(found):
                yield _told(task, found["key"].combine_chunks().cast(pa.binary()))


def cut(merging: Merging, tasks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All rows of objects, for the parts that they lie in."""
    with told():
        for task in _tasks(tasks):
            group = merging.groups[task.group]
            with _read(merging, task, whole=True) as (session, rewriting):
                key, rows = _keyed(rewriting, merging.target)
                part = _part(group.bounds, 0, len(group.bounds))
                keyed = f"SELECT {key} AS {_KEY}, * FROM ({rows})"
                for batch in session.stream(f"SELECT {part}, * EXCLUDE {_KEY} FROM ({keyed})", _BATCH):
                    parts = batch.column(0).to_numpy(zero_copy_only=False).astype(np.int32)
                    yield from sent(batch.select(batch.schema.names[1:]), parts + np.int32(group.first))


def merge_part(merging: Merging, records: Iterable[pa.RecordBatch]) -> Iterator[Message]:
    """Of the rows that `cut` sent here: one object on the store."""
    each = iter(records)
    first = next(each, None)
    if first is None:
        return
    group = _group_of(merging.groups, first.column("part")[0].as_py())
    target = merging.target
    with told(), _session(target) as session:
        knowledge = Knowledge(_forms(Forms(), group))
        rewriting = Rewriting(session, session, target.settings, knowledge, 0, whole=True)
        _take(session, rewriting, Received(chain([first], each)))
        yield from _stored(target, rewriting.written())


@contextmanager
def _read(merging: Merging, task: Task, *, whole: bool) -> Iterator[tuple[Session, Rewriting]]:
    """The objects of a task, to be rewritten. `whole`: as its group lays them out."""
    target, group = merging.target, merging.groups[task.group]
    store = target.store(SystemClock(), Ids())
    files = files_of(store)
    snapshot = Snapshot([Owner(target.repository_id, "a compaction")], target.settings, [table_of(task.entries)])
    forms = Forms()
    with _session(target, files.folders) as session, _session(target) as spare:
        paths = asyncio.run(placed(files, snapshot, snapshot.all.tolist(), session.folder))
        size = int(snapshot.sizes.sum())
        knowledge = Knowledge(_forms(forms, group))
        rewriting = Rewriting(session, spare, target.settings, knowledge, size, whole=whole)
        by_form: dict[int, list[int]] = {}
        for index in paths:
            by_form.setdefault(knowledge.forms.index(forms.of(snapshot.facts(index))), []).append(index)
        for number, indices in by_form.items():
            rewriting.add(knowledge.forms[number], [paths[index] for index in indices])
        yield session, rewriting


def _keyed(rewriting: Rewriting, target: Target) -> tuple[str, str]:
    """The sort key of each row, and the rows: all of a group have one layout."""
    known, [relation] = rewriting.laid_out()
    by = Order(relation.layout, target.settings, known.by_id).by()
    return (sort_key(by) if by else "''::BLOB"), relation.sql


def _take(session: Session, rewriting: Rewriting, received: Received) -> None:
    begun = False
    for chunk in received.chunks():
        assert isinstance(chunk, pa.RecordBatch)
        session.connection.register("chunk", chunk)
        session.execute(f"INSERT INTO {_ROWS} FROM chunk" if begun else f"CREATE TABLE {_ROWS} AS FROM chunk")
        session.connection.unregister("chunk")
        begun = True
    rewriting.add_laid_out(_ROWS)


def _stored(target: Target, files: Iterator[WrittenObject]) -> Iterator[Message]:
    clock, ids = SystemClock(), Ids()
    putting = Putting(target.store(clock, ids))
    writer = target.writer(putting.store, clock, ids)
    with asyncio.Runner() as runner:
        for written in files:
            yield putting.message(runner.run(put(writer, written)), written.facts.rows)


def _part(bounds: Sequence[bytes], low: int, high: int) -> str:
    """How many of the bounds are not greater than the key, by a tree of comparisons."""
    if low == high:
        return f"{low}"
    middle = (low + high) // 2
    below, above = _part(bounds, low, middle), _part(bounds, middle + 1, high)
    return f"CASE WHEN {_KEY} < {blob_sql(bounds[middle])} THEN {below} ELSE {above} END"


def _group_of(groups: Sequence[Group], part: int) -> Group:
    return next(group for group in reversed(groups) if not group.alone and group.first <= part)


def _forms(forms: Forms, group: Group) -> list[Form]:
    return [forms.of(facts) for facts in group.forms]


def _told(task: Task, keys: pa.Array) -> pa.RecordBatch:
    count = len(keys)
    columns = [pa.repeat(task.group, count), pa.repeat(task.rows / count, count), keys]
    return pa.table(columns, names=_SAMPLE.names).cast(_SAMPLE).combine_chunks().to_batches()[0]


def _session(target: Target, folders: Sequence[str] | None = None) -> Session:
    """Two of these are within what a task may use."""
    limits = target.limits._replace(memory_bytes=target.limits.memory_bytes // 2)
    return Session(limits, folders=folders, temp=target.temp or spark_folder(), ordered=False)


def _tasks(batches: Iterable[pa.RecordBatch]) -> Iterator[Task]:
    for batch in batches:
        yield from (_decoder.decode(data) for data in batch.column("task").to_pylist())


_decoder = msgspec.msgpack.Decoder(Task)
