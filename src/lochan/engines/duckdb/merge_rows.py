"""Merges the rows of objects that both sides of a merge have replaced (rule S7): ours, with the changes of theirs.

Rows are compared column by column, under one layout of all their shapes; if no layout holds them all, as texts. Equal
rows are counted on each side, and the counts decide how many there are in the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from sqlglot import exp

from lochan.engines.duckdb.data_objects import place_objects, sessions, store_objects
from lochan.engines.duckdb.files import Files
from lochan.engines.duckdb.limits import STANDARD, Limits
from lochan.engines.duckdb.load.key_order import KeyColumn, Order
from lochan.engines.duckdb.load.known_shapes import KnownShapes
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.objects import Objects, WrittenObject
from lochan.engines.duckdb.load.relation import StagingTable, relations
from lochan.engines.duckdb.load.sql import name_sql, text_sql
from lochan.engines.duckdb.rewrite import files_sql
from lochan.engines.duckdb.session import DuckSession
from lochan.engines.duckdb.time_upgrade import TimeUpgrade
from lochan.errors import PathsInTheWay
from lochan.formats.entry import Entry
from lochan.formats.entry_table import table_of
from lochan.formats.pool_settings import Path, PoolKey, PoolSettings, path_text
from lochan.ingest.lines import Lines
from lochan.pools import times
from lochan.pools.decode import ndjson
from lochan.pools.forms import Form, Forms
from lochan.pools.json_row import FAIL, Faults, read_value, row_text
from lochan.pools.kinds import FLOAT, STRING, TIME
from lochan.pools.layout import SHAPE_COLUMN, columns, lay_out
from lochan.pools.merge import RowMerge
from lochan.pools.nullable_shapes import is_ambiguous
from lochan.pools.snapshot import Owner, Snapshot
from lochan.query.compile import moments
from lochan.query.dialects import render
from lochan.query.sources.knowledge import Knowledge
from lochan.tree.merge import DEST, SOURCE, Strategy
from lochan.versioning.open_repository import OpenRepository

# Names that no column of a layout can have.
_SIDE, _KEY, _TIMES, _CLASH, _BY_THEIRS = '"#side"', '"#key"', '"#times"', '"#clash"', '"#by theirs"'
_COUNTS = '"#base"', '"#ours"', '"#theirs"'
_FIRST = 5  # conflicts that the error message shows


class RowConflicts(PathsInTheWay):
    def __init__(self, settings: PoolSettings, keys: Sequence[Sequence[Any]], count: int) -> None:
        """Describes conflicts. `keys` are the values of the first ones."""
        names = list(map(path_text, settings.primary_key))
        rows = [dict(zip(names, values, strict=True)) for values in keys]
        texts = [" ".join(f"{name}={row_text(value)}" for name, value in row.items()) for row in rows]
        super().__init__(
            f"both sides changed {count} row{'s' if count > 1 else ''} of the same {', '.join(names)}: "
            f"{', '.join(texts)}{', …' if count > len(keys) else ''}",
            paths=texts,
            count=count,
            hint="choose --strategy source-wins or dest-wins, or change them on one side first",
            keys=rows,
        )


async def merge_rows(
    repository: OpenRepository, merge: RowMerge, mint: int, files: Files, limits: Limits = STANDARD
) -> list[Entry]:
    """Returns new objects, on no branch yet. Raises RowConflicts, or Gone if an object is missing."""
    every = {entry.path: entry for entry in (*merge.base, *merge.ours, *merge.theirs)}
    owner = Owner(repository.repository.name, "a merge")
    snapshot = Snapshot([owner], merge.settings, [await repository.places.place_table(table_of(every.values()))])
    indices = snapshot.all.tolist()
    at = {path: index for index, path in enumerate(snapshot.spans["path"].to_pylist())}
    with sessions(files, limits) as engines:
        paths = await place_objects(files, snapshot, indices, engines.main.folder)
        forms = Forms()
        sides = [
            [(forms.of(snapshot.facts(at[entry.path])), paths[at[entry.path]]) for entry in side] for side in merge[:3]
        ]
        merging = _Merging(*engines, merge.settings, merge.strategy, int(snapshot.sizes.sum()))
        found = await engines.apart(partial(merging.written, sides))
        return await store_objects(repository, mint, found, engines.apart)


class _Merging:
    def __init__(
        self, session: DuckSession, spare: DuckSession, settings: PoolSettings, strategy: Strategy, size: int
    ) -> None:
        self._session = session
        self._spare = spare
        self._settings = settings
        self._strategy = strategy
        self._bytes = size

    def written(self, sides: Sequence[Sequence[tuple[Form, str]]]) -> Iterator[WrittenObject]:
        """Yields one file at a time, which the caller must delete."""
        knowledge = Knowledge(dict.fromkeys(form for side in sides for form, _ in side))
        by_form = [_by_form(side) for side in sides]
        return self._by_column(knowledge, by_form) or self._by_text(by_form)

    # --- as columns --------------------------------------------------------------------------------------------------
    def _by_column(
        self, knowledge: Knowledge, sides: Sequence[Mapping[Form, Sequence[str]]]
    ) -> Iterator[WrittenObject] | None:
        """Returns None if no layout holds them all, or if equal rows may have different shapes."""
        if any(form.body for side in sides for form in side):
            return None
        modernized = TimeUpgrade(knowledge, self._settings.times)
        shapes = list(dict.fromkeys(shape for form in knowledge.forms for shape in modernized.laid(form).shapes))
        layout = lay_out(shapes)
        if layout.body:
            return None
        ids = KnownShapes([key.path for key in self._settings.keys])
        ids.by_id.update(modernized.numbers)
        ids.columns.update((shape, id) for id, shape in modernized.numbers.items())
        ids.numbered(shapes)  # some shapes have no rows
        arms: list[str] = []
        for number, side in enumerate(sides):
            for form, paths in side.items():
                table = self._view(modernized, form, paths, f"side{number}_{len(arms)}")
                [relation] = relations([table], layout, ids, shapes)
                if relation.layout != layout or is_ambiguous(relation.shapes):
                    return None
                arms.append(f"SELECT {number} AS {_SIDE}, * FROM ({relation.sql})")
        names = [SHAPE_COLUMN, *(name_sql(name) for name, _ in columns(layout))]
        primary = PoolSettings(tuple(map(PoolKey, self._settings.primary_key)) or (PoolKey(),))
        order = Order(layout, primary, ids.by_id) if self._settings.primary_key else None
        key = (
            f"CASE WHEN {order.has_key} THEN to_json([{_texts(order, self._settings.times)}]) END" if order else "NULL"
        )
        sql = self._merge_sql(" UNION ALL ".join(arms), names, key, _parse_value)
        split = modernized.split(knowledge.forms)
        return Objects(self._session, ids, self._settings, self._bytes, split).write(relation._replace(sql=sql))

    def _view(self, modernized: TimeUpgrade, form: Form, paths: Sequence[str], name: str) -> StagingTable:
        shown = ", ".join(f"{sql} AS {name_sql(column)}" for sql, column in modernized.selected(form))
        self._session.execute(f"CREATE TEMP VIEW {name} AS SELECT {shown} FROM {files_sql(paths)}")
        laid = modernized.laid(form)
        return StagingTable(name, laid.layout, laid.shapes)

    # --- as texts ----------------------------------------------------------------------------------------------------
    def _by_text(self, sides: Sequence[Mapping[Form, Sequence[str]]]) -> Iterator[WrittenObject]:
        self._session.execute(f"CREATE TEMP TABLE texts ({_SIDE} INTEGER, line VARCHAR)")
        for number, side in enumerate(sides):
            for form, paths in side.items():
                for path in paths:
                    self._take_texts(number, form, path)
        key = f"CASE WHEN {_json_key(self._settings)} THEN to_json([{_json_values(self._settings)}]) END"
        key = key if self._settings.primary_key else "NULL"
        sql = self._merge_sql("SELECT * FROM texts", ["line"], key, read_value)
        loader = Loader(self._spare, self._settings, Faults(FAIL))
        batches = self._session.stream(sql)
        for batch in batches:
            loader.take(Lines("rows", batch.column(0).cast(pa.string()), valid=True, first=1))
        return loader.objects()

    def _take_texts(self, side: int, form: Form, path: str) -> None:
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches():
                table = pa.Table.from_batches([batch])
                lines = ndjson(table, form.shapes, form.layout).decode().splitlines()
                chunk = pa.table({"line": pa.array(lines, pa.string())})
                with self._session.registered("chunk", chunk):
                    self._session.execute(f"INSERT INTO texts SELECT {side}, line FROM chunk")

    # --- either way --------------------------------------------------------------------------------------------------
    def _merge_sql(self, sides: str, names: Sequence[str], key: str, value_of: Callable[[str], Any]) -> str:
        """Returns SQL for the merged rows. `value_of` parses the text of a key. Raises RowConflicts."""
        listed = ", ".join(names)
        counts = ", ".join(f"count(*) FILTER ({_SIDE} = {number}) AS {name}" for number, name in enumerate(_COUNTS))
        self._session.execute(
            f"CREATE TEMP TABLE counted AS SELECT {listed}, {counts}, any_value({key})::VARCHAR AS {_KEY} "
            f"FROM ({sides}) GROUP BY {listed}"
        )
        self._session.execute(f"CREATE TEMP TABLE keys AS SELECT {_KEY}, {_changes()} FROM counted GROUP BY {_KEY}")
        self._check(value_of)
        return (
            f"SELECT {listed} FROM (SELECT {listed}, unnest(range({_TIMES})) FROM (SELECT counted.*, "
            f"{self._count()} AS {_TIMES} FROM counted LEFT JOIN keys USING ({_KEY})))"
        )

    def _count(self) -> str:
        base, ours, theirs = _COUNTS
        alone = f"CASE WHEN {ours} = {theirs} THEN {ours} ELSE greatest(0, {ours} + {theirs} - {base}) END"
        won = theirs if self._strategy.otherwise == SOURCE else ours
        keyed = f"CASE WHEN {_CLASH} THEN {won} WHEN {_BY_THEIRS} THEN {theirs} ELSE {ours} END"
        return f"CASE WHEN counted.{_KEY} IS NULL THEN {alone} ELSE {keyed} END"

    def _check(self, value_of: Callable[[str], Any]) -> None:
        if self._strategy.otherwise in (SOURCE, DEST):
            return
        ((count,),) = self._session.execute(f"SELECT count(*) FROM keys WHERE {_CLASH} AND {_KEY} IS NOT NULL")
        if count:
            found = self._session.execute(
                f"SELECT {_KEY} FROM keys WHERE {_CLASH} AND {_KEY} IS NOT NULL ORDER BY 1 LIMIT {_FIRST}"
            )
            keys = [list(map(value_of, json.loads(key))) for (key,) in found]
            raise RowConflicts(self._settings, keys, count)


def _by_form(side: Sequence[tuple[Form, str]]) -> dict[Form, list[str]]:
    found: dict[Form, list[str]] = {}
    for form, path in side:
        found.setdefault(form, []).append(path)
    return found


def _changes() -> str:
    """Returns SQL that determines, for the rows of one primary key, which side changed them, and whether both did so
    differently."""
    base, ours, theirs = _COUNTS
    changed = {who: f"bool_or({count} <> {base})" for who, count in (("ours", ours), ("theirs", theirs))}
    clash = f"{changed['ours']} AND {changed['theirs']} AND bool_or({ours} <> {theirs})"
    return f"{clash} AS {_CLASH}, {changed['theirs']} AND NOT {changed['ours']} AS {_BY_THEIRS}"


def _texts(order: Order, times: Collection[Path]) -> str:
    """Returns SQL for the values of a key as texts that include their kinds. The same moment is the same key, however
    its row stores it."""
    return ", ".join(f"coalesce({', '.join(_key_texts(part, times))})" for part in order.parts)


def _key_texts(part: KeyColumn, times: Collection[Path]) -> Iterator[str]:
    for kind, sql in part.kinds.items():
        if kind == STRING and part.key.path in times:  # in rows of an earlier version strings may be times
            split = moments.split(exp.Var(this=sql))
            yield _text(TIME, render(split.time, "duckdb"), render(moments.finer(split.original), "duckdb"))
        if kind == TIME:
            yield _text(kind, sql, part.finer if part.original else "''")
        else:
            yield _text(kind, sql)


def _text(kind: str, sql: str, finer: str = "") -> str:
    """Returns SQL for one text. For a time, `finer` are the digits after the sixth; the fraction before them has as
    many as it needs."""
    behind = f" || ' ' || {finer}" if finer else ""
    return f"{text_sql(kind[0])} || ({sql})::VARCHAR{behind}"


def _parse_value(text: str) -> Any:
    """Parses such a text to a value of JSON."""
    kind, written = text[0], text[1:]
    if kind == STRING[0]:
        return written
    if kind == TIME[0]:
        return _parse_time(written)
    return float(written) if kind == FLOAT[0] else read_value(written)


def _parse_time(written: str) -> str:
    stamp, _, finer = written.rpartition(" ")
    micros = times.parse(stamp)
    if not finer:
        return times.render(micros, times.NATIVE)
    return times.render(micros, "YYYY-MM-DDTHH:MM:SS.ffffffZ").removesuffix("Z") + finer + "Z"


def _json_key(settings: PoolSettings) -> str:
    return " AND ".join(f"coalesce(json_type({_json_at(path)}) <> 'NULL', false)" for path in settings.primary_key)


def _json_values(settings: PoolSettings) -> str:
    return ", ".join(f"({_json_at(path)})::VARCHAR" for path in settings.primary_key)


def _json_at(path: Sequence[str]) -> str:
    pointer = "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in path)
    return f"json_extract(line, {text_sql(pointer)})"
