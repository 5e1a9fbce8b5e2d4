"""Changes of single rows of a pool: a statement deletes, updates or inserts rows, and everything else stays.

A row is identified by the data object that holds it and its number there. All changes of an object come to one task,
which writes its other rows into new objects, column by column, as a delete by predicate does. In an updated row only
the fields that were given another value change. The other fields are read from the object, and never from a frame, in
which a value may look different (a number among texts is a text of JSON there, and a missing field is NULL).

The columns of a batch of changes are in `row_change_columns`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lochan.clock import SystemClock
from lochan.engines.duckdb.data_objects import place_objects
from lochan.engines.duckdb.files import files_of
from lochan.engines.duckdb.rewrite import ObjectRewriter
from lochan.errors import Invalid, NotFound
from lochan.formats.collection_events import AliasNames
from lochan.formats.entry import Entry
from lochan.formats.entry_table import table_of
from lochan.formats.metarange import EMPTY, TreeRef
from lochan.ids import Ids
from lochan.ingest.tabular import check_batch, rows_of
from lochan.jobs.compaction_tasks import store_written, task_session
from lochan.jobs.messages import PoolTarget, RowCounts, TaskMessage, reports_errors
from lochan.jobs.pool_writer import write_rows
from lochan.jobs.row_change_columns import CHANGE_COLUMNS, DELETE, FIELDS, OBJECT, OPERATION, ROW, UPDATE
from lochan.jobs.stored_rows import stored_rows
from lochan.pools.forms import Form, Forms
from lochan.pools.json_row import Row
from lochan.pools.snapshot import Owner, Snapshot
from lochan.query.sources.knowledge import Knowledge
from lochan.tree.trees import Trees
from lochan.versioning.bodies.block_places import load_aliases

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lochan.engines.duckdb.session import DuckSession

_GONE = "gone"


@dataclass(frozen=True, slots=True)
class ChangeTarget(PoolTarget):
    """A pool whose rows change. It can be pickled."""

    tree: TreeRef = field(default=EMPTY)  # the tree of the commit that the rows were read at
    commit: str = ""
    aliases: AliasNames = field(default=AliasNames())

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
        return change_rows(self, batches)


def change_rows(target: ChangeTarget, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
    """Changes the rows of a task. REQUIRES: the changes of an object come one after the other, and to no other task."""
    with reports_errors():
        for object, group in groupby(_pieces(batches), key=lambda piece: piece.object):
            changes = (piece.changes for piece in group)
            yield from _insert(target, changes) if object is None else _change(target, object, changes)


def by_object(frame: DataFrame) -> DataFrame:
    """Returns the frame of changes as `change_rows` needs it. New rows are spread evenly."""
    from pyspark.sql import functions

    from lochan.jobs.tasks import number_columns

    rows, names = number_columns(frame), frame.columns
    fresh = functions.concat(functions.lit("~"), functions.pmod(functions.hash(*rows.columns), functions.lit(64)))
    together = rows.repartition(functions.coalesce(f"c{OBJECT}", fresh)).sortWithinPartitions(f"c{OBJECT}")
    return together.toDF(*names)


class _Piece(NamedTuple):
    object: str | None
    changes: pa.RecordBatch


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[_Piece]:
    """Yields pieces with the changes of one object each."""
    for batch in batches:
        begin = 0
        for object, group in groupby(batch.column(OBJECT).to_pylist()):
            count = sum(1 for _ in group)
            yield _Piece(object, batch.slice(begin, count))
            begin += count


# --- new rows --------------------------------------------------------------------------------------------------------
def _insert(target: ChangeTarget, changes: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
    count = 0
    for message in write_rows(target, map(_values, changes)):
        count += message.rows
        yield message
    yield TaskMessage(changed=RowCounts(inserted=count))


def _values(changes: pa.RecordBatch) -> pa.RecordBatch:
    return changes.select(list(range(len(CHANGE_COLUMNS), changes.num_columns)))


# --- rows of an object -----------------------------------------------------------------------------------------------
class _ObjectChanges(NamedTuple):
    deleted: set[int]
    updated: dict[int, Row]  # the fields that get another value

    @property
    def rows(self) -> list[int]:
        return sorted(self.deleted | self.updated.keys())


def _change(target: ChangeTarget, object: str, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
    changes = _gather(object, batches)
    if not changes.rows:
        return
    entry = asyncio.run(_entry(target, object))
    snapshot = Snapshot([Owner(target.repository_id, target.commit)], target.settings, [table_of([entry])])
    files = files_of(target.store(SystemClock(), Ids()))
    with task_session(target, files.folders) as session, task_session(target) as spare:
        [path] = asyncio.run(place_objects(files, snapshot, [0], session.folder)).values()
        form = Forms().of(snapshot.facts(0))
        rewriter = ObjectRewriter(session, spare, target.settings, Knowledge([form]), entry.size)
        _keep_others(session, rewriter, form, path, changes, int(snapshot.rows[0]))
        for rows in stored_rows(path, form, sorted(changes.updated), target.settings.times):
            rewriter.add_rows([{**row, **changes.updated[number]} for number, row in rows])
        yield from store_written(target, rewriter.written())
    counts = RowCounts(deleted=len(changes.deleted), updated=len(changes.updated))
    yield TaskMessage(removed=(entry,), changed=counts)


def _gather(object: str, batches: Iterable[pa.RecordBatch]) -> _ObjectChanges:
    found, seen = _ObjectChanges(set(), {}), set[int]()
    for batch in batches:
        for row, operation in zip(batch[ROW].to_pylist(), batch[OPERATION].to_pylist(), strict=True):
            if row in seen:
                raise _twice(object, row)
            seen.add(row)
            if operation == DELETE:
                found.deleted.add(row)
        found.updated.update(_updates(batch))
    return found


def _updates(batch: pa.RecordBatch) -> Iterator[tuple[int, Row]]:
    """Yields the updates, without those that give no field another value."""
    is_update = pc.and_(pc.equal(batch.column(OPERATION), UPDATE), pc.greater(pc.list_value_length(batch[FIELDS]), 0))
    chosen = batch.filter(is_update)
    if not chosen.num_rows:
        return
    values = _values(chosen)
    names, rows = values.schema.names, rows_of(check_batch("the rows", values))
    for number, fields, row in zip(chosen[ROW].to_pylist(), chosen[FIELDS].to_pylist(), rows, strict=True):
        yield number, {names[each]: row[names[each]] for each in fields}


def _twice(object: str, row: int) -> Invalid:
    return Invalid(
        f"a row would be changed twice (row {row} of {object}): several rows of the source match it",
        hint="nothing was changed; leave one row for each match in the source",
    )


async def _entry(target: ChangeTarget, path: str) -> Entry:
    store = target.store(SystemClock(), Ids())
    tree = await Trees(store, target.repository_id).open(target.tree)
    found = await tree.get(path)
    if found is None:
        raise NotFound(f"commit {target.commit[:12]} has no data object {path}", hint="nothing was changed")
    return (await load_aliases(store, target.repository_id, target.aliases)).place_entry(found)


def _keep_others(
    session: DuckSession, rewriter: ObjectRewriter, form: Form, path: str, changes: _ObjectChanges, rows: int
) -> None:
    numbers: Sequence[int] = changes.rows
    if len(numbers) == rows:
        return
    with session.registered("numbers", pa.table({"number": pa.array(numbers, pa.int64())})):
        session.execute(f"CREATE TEMP TABLE {_GONE} AS FROM numbers")
    rewriter.add_except(form, path, _GONE)
