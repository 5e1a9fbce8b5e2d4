"""Plans how the new rows of a branch become rows of a stream.

A stream has the columns that the pool had when it was started, whichever objects a batch reads: a field that holds
numbers and texts is a text of JSON even in a batch that has only texts. So a batch is planned together with one object
of each form that the pool had then. These objects determine the columns, but their rows are not read.

Rows that do not fit these columns end the stream, so that none are silently lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lochan.engines.duckdb.run import scan_names
from lochan.engines.query_context import QueryContext
from lochan.engines.spark.frames.field_order import same_fields
from lochan.engines.spark.frames.read_plan import ReadPlan, ReadRequest, kinds, plan
from lochan.engines.spark.frames.typed_columns import arrow_schema
from lochan.errors import Refused
from lochan.formats.entry import Entry
from lochan.formats.entry_table import table_of
from lochan.pools.feed import FeedSpan
from lochan.pools.settings import settings_of
from lochan.pools.shape import Path
from lochan.pools.snapshot import DataObject, Owner, Snapshot, Snapshots
from lochan.pools.tree_pruning import EVERYTHING, Reach
from lochan.query.output.columns import Column
from lochan.query.output.typed import is_text
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.resolve import ResolvedRef
from lochan.versioning.uri import Uri

REMOVED, ADDED = "removed", "added"


class FeedColumns(NamedTuple):
    """The columns of a stream. They can be pickled."""

    request: ReadRequest  # at the commit that the columns belong to
    forms: pa.Table  # entries of objects, one of each form
    types: pa.Schema
    texts: frozenset[Path]  # columns that are texts of JSON
    wide: frozenset[Path]  # fields that are decimals


class FixedSnapshots(Snapshots):
    """Returns the same snapshot for every request."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self._snapshot = snapshot

    async def at(self, repository: OpenRepository, resolved: ResolvedRef, reach: Reach = EVERYTHING) -> Snapshot:
        return self._snapshot


class FeedSide(NamedTuple):
    """Objects that one commit removed or added."""

    commit: str
    side: str = ADDED


@dataclass(frozen=True)
class FeedPlan:
    """The plan of a batch. `objects` are those to be read, by the name of their scan."""

    plan: ReadPlan
    objects: dict[FeedSide, dict[str, list[DataObject]]]


async def feed_columns(
    at: QueryContext, repository: OpenRepository, request: ReadRequest, more: Sequence[Entry] = ()
) -> FeedColumns:
    """Returns the columns of the pool at the request's commit, with `more` objects. Raises QueryError, or Refused for
    rows that make no table."""
    resolved = await repository.resolve(request.uri.ref)
    whole = await at.snapshots.at(repository, resolved)
    if more:
        owners = [Owner(request.uri.repository, resolved.commit_id)] * 2
        distinct = {entry.path: entry for entry in more}
        added = await repository.places.place_table(table_of(distinct.values()))
        whole = Snapshot(owners, whole.settings, [whole.entries, added])
    made = await plan(replace(at, snapshots=FixedSnapshots(whole)), request)
    return FeedColumns(request, _one_of_each(whole), *_look(made.row, made.wide), made.wide)


def _one_of_each(snapshot: Snapshot) -> pa.Table:
    _, first = np.unique(snapshot.forms(snapshot.all), return_index=True)
    return snapshot.taken(first.tolist())


async def feed_plan(
    at: QueryContext, repository: OpenRepository, columns: FeedColumns, span: FeedSpan, end: str
) -> FeedPlan:
    """Plans a batch. `end` is the position that the span ends at. Raises Refused for rows that do not fit the
    columns."""
    sides = dict(_sides(span))
    owners = [Owner("", ""), *(Owner(side, commit) for commit, side in sides)]  # objects keep their side as their owner
    read = [await repository.places.place_table(table_of(entries)) for entries in sides.values()]
    tables = [columns.forms, *read]
    snapshot = Snapshot(owners, settings_of(repository.repository), tables)
    request = replace(columns.request, uri=columns.request.uri._replace(ref=end))
    made = await plan(replace(at, snapshots=FixedSnapshots(snapshot)), request)
    _check(columns, made.row, request.uri, span)
    objects: dict[FeedSide, dict[str, list[DataObject]]] = {side: {} for side in sides}
    for name in scan_names(made.query, made.scans):
        for each in made.scans.files[name].objects:
            if each.commit:
                named = each._replace(pool=request.uri.repository)
                objects[FeedSide(each.commit, each.pool)].setdefault(name, []).append(named)
    return FeedPlan(replace(made, wide=columns.wide), objects)


def _sides(span: FeedSpan) -> Iterator[tuple[FeedSide, Sequence[Entry]]]:
    if span.whole:
        yield FeedSide(span.whole_at), span.whole
    for each in span.changes:
        for side, entries in ((REMOVED, each.removed), (ADDED, each.added)):
            if entries:
                yield FeedSide(each.id, side), entries


# --- do the rows fit? ------------------------------------------------------------------------------------------------
def _look(row: Column, wide: frozenset[Path]) -> tuple[pa.Schema, frozenset[Path]]:
    return arrow_schema(row, wide), frozenset(_texts(row))


def _texts(row: Column, above: Path = ()) -> Iterator[Path]:
    for name, column in row.members:
        if is_text(column):
            yield (*above, name)
        elif len(kinds(column)) == 1:
            yield from _texts(column, (*above, name))


def _check(columns: FeedColumns, row: Column, uri: Uri, span: FeedSpan) -> None:
    types, texts = _look(row, columns.wide)
    if same_fields(pa.struct(list(types)), pa.struct(list(columns.types))) and texts == columns.texts:
        return
    ids = [each.id[:12] for each in span.changes] or [span.whole_at[:12]]
    where = f"of {uri.repository} in {f'commit {ids[0]}' if len(ids) == 1 else f'commits {ids[0]} to {ids[-1]}'}"
    hint = "start the stream again with the same checkpoint: it then has the columns that the pool has"
    for each in types:
        if each.name not in columns.types.names:
            hint = f"{hint}; or name the columns that you want"
            raise Refused(f"rows {where} have a field `{each.name}`, which the stream has no column for", hint=hint)
        same = same_fields(each.type, columns.types.field(each.name).type)
        if not same or _paths_below(texts, each.name) != _paths_below(columns.texts, each.name):
            raise Refused(f"rows {where} hold values of another kind in `{each.name}` than the stream has", hint=hint)


def _paths_below(paths: frozenset[Path], name: str) -> set[Path]:
    return {path for path in paths if path[0] == name}
