"""Stages rows in tables of the session until they are sorted.

Each table has the columns of one layout. If a new shape needs more columns, the next rows go to a new table; `relation`
combines the tables. A table that has grown large is spilled to files. Rows that come in typed columns are held in these
as long as they are few enough (held_rows.py), so that most are never inserted into a table.

    _shape      the number of the row's shape; NULL if no known shape could be proven, so the row does not count
    #miss       for such a row: its number in the chunk
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path as File
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lochan.engines.duckdb.load.columns import ROW, SHAPE, LayoutColumns, kind_at, structure
from lochan.engines.duckdb.load.held_rows import HeldRows, ShapedRows
from lochan.engines.duckdb.load.known_shapes import KnownShapes
from lochan.engines.duckdb.load.proven_families import NO_FAMILIES, ProvenFamilies
from lochan.engines.duckdb.load.relation import StagingTable, can_cast
from lochan.engines.duckdb.load.shape_proof import pattern, proof
from lochan.engines.duckdb.load.sql import name_sql, text_sql
from lochan.engines.duckdb.session import DuckSession
from lochan.formats.pool_settings import Path
from lochan.pools.kinds import STRING
from lochan.pools.layout import SHAPE_COLUMN, Layout, columns
from lochan.pools.shape import Object

_PATTERNS_MAX = 16  # each row is matched against them, one after the other
_SLICE_ROWS = 16_384
_SPILL_SHARE = 2  # the reciprocal of a share: half of the memory, because sorting the rows takes as much again
_HELD_SHARE = 8  # held rows may take an eighth of the engine's memory, besides that memory itself
_SPILL_ROW_GROUP_ROWS = 40_960  # small, because in each file a range begins and ends within a row group

Misses = npt.NDArray[np.int64]


class _Proofs(NamedTuple):
    """The SQL for the number of a row's shape."""

    shape: str  # for a parsed row
    matched: str  # for a row's text
    together: ProvenFamilies
    of_parsed: bool  # whether parsing all rows proves the shape of any


class Staging:
    """The staged rows of a load. `order` returns the terms by which rows of a layout will be sorted. `times` are the
    fields declared as times."""

    def __init__(
        self, session: DuckSession, known: KnownShapes, order: Callable[[Layout], list[str]], times: Collection[Path]
    ) -> None:
        self._session = session
        self._times = times
        self._known = known
        self._order = order
        self._spilled = SpilledTables(session)
        self._tables: list[StagingTable] = []
        self._file: StagingTable | None = None  # rows that came before those of the tables (single_pass.py)
        self._held: HeldRows | None = None  # rows that came after those of the tables
        self._text_table: str | None = None  # the table of rows that are text
        self._families: tuple[tuple[tuple[Object, ...], Layout], ProvenFamilies] | None = None  # those used last

    def tables(self) -> list[StagingTable]:
        """Returns the tables with all rows. Called once, when all rows are in."""
        tables = [] if self._file is None else [self._file]
        tables += [table._replace(name=self._spilled.view(table.name)) for table in self._tables]
        if self._held is not None:
            layout, shapes = self._place(self._held)
            self._session.register("held_rows", _in_slices(self._held.table()))
            self._session.execute(f"CREATE TEMP VIEW held AS {self._held.cast(layout, 'held_rows')}")
            tables.append(StagingTable("held", layout, shapes))
        return tables

    def text_table(self) -> str | None:
        """Returns the table of rows that are kept as text, or None if there are none."""
        return self._text_table and self._spilled.view(self._text_table)

    def insert_proven(self, lines: pa.Array) -> Misses:
        """Inserts all lines with a proven shape. Returns the numbers of the others, ascending."""
        if not self._known.frequent():
            return np.arange(len(lines), dtype=np.int64)
        table = self._table()
        proofs = self._proofs(table.layout)
        try:
            if proofs.of_parsed:
                self._insert(table, lines, proofs.shape, read_all=True, together=proofs.together)
        except duckdb.InvalidInputException:  # one line is not JSON, so the engine rejects all of them
            proofs = proofs._replace(of_parsed=False)
        if not proofs.of_parsed:
            self._insert(table, lines, proofs.matched)
        misses = self._misses(table)
        self._added(table, lines.nbytes)
        return misses

    @contextmanager
    def proven(self, lines: pa.RecordBatchReader) -> Iterator[StagingTable | None]:
        """Yields lines with their numbers, `n` and `line`, as a table that is not stored: it can be read once. A row
        without a proven shape has minus its number in place of the shape's. Yields None if no shape can be proven from
        parsed rows."""
        layout = self._known.layout
        proofs = self._proofs(layout)
        if not proofs.of_parsed:
            yield None
            return
        parsed = self._parsed(layout, proofs.shape, read_all=True, together=proofs.together)
        values = LayoutColumns(layout, self._known.columns).all()
        listed = "".join(f", {each.sql} AS {name_sql(each.name)}" for each in values)
        sql = f"(SELECT coalesce({SHAPE}, -n)::INTEGER AS {SHAPE_COLUMN}{listed} FROM ({parsed}))"
        with self._session.registered("chunk", lines), self._masks(proofs.together):
            yield StagingTable(sql, layout, tuple(self._known.columns))

    def replace_with(self, file: File, layout: Layout, shapes: tuple[Object, ...]) -> None:
        """Replaces all staged rows with those of the file, except for rows without a proven shape. REQUIRES: no rows
        are held or kept as text, and none were spilled."""
        for table in self._tables:
            self._session.execute(f"DROP TABLE {table.name}")
        self._tables = []
        name = "passed"
        rows = f"SELECT * FROM read_parquet({text_sql(str(file))}) WHERE {SHAPE_COLUMN} > 0"
        self._session.execute(f"CREATE TEMP VIEW {name} AS {rows}")
        self._file = StagingTable(name, layout, shapes)

    @property
    def is_simple(self) -> bool:
        """Whether all rows so far are in tables of the session."""
        whole = self._held is None and self._text_table is None and self._file is None
        return whole and not self._spilled.files

    def _proofs(self, layout: Layout) -> _Proofs:
        arms = " ".join(f"WHEN regexp_full_match(line, {text_sql(text)}) THEN {id}" for id, text in self.patterns())
        matched = f"CASE {arms} END" if arms else "NULL::INTEGER"
        shapes = self._known.frequent()
        together = self._families_of(shapes, layout)
        numbers = {shape: self._known.columns[shape] for shape in shapes if shape not in together.masks}
        shown = proof(numbers, self._known.styles, layout, self._times)
        of_parsed = bool(shown or together.masks)
        return _Proofs(f"coalesce({shown or 'NULL'}, {matched})", matched, together, of_parsed)

    def _families_of(self, shapes: Sequence[Object], layout: Layout) -> ProvenFamilies:
        key = tuple(shapes), layout
        if self._families is None or self._families[0] != key:
            self._families = key, ProvenFamilies.of(shapes, self._known.styles, layout, self._times)
        return self._families[1]

    def insert_inferred(self, lines: pa.Array, ids: pa.Array) -> None:
        """Inserts lines as `shape_inference` wrote them, with the numbers of their shapes."""
        if len(lines):
            table = self._table()
            self._insert(table, lines, "id", ids)
            self._added(table, lines.nbytes)

    def insert_columns(self, rows: ShapedRows) -> bool:
        """Inserts rows that come in columns. Returns False, without inserting any, if something in them is kept as text
        by now."""
        if not can_cast(rows.layout, self._known.layout):
            return False
        if self._held is not None and not self._held.fits(rows):
            self.insert_held()
        if self._held is None:
            self._held = HeldRows(rows.layout)
        self._held.add(rows, self._known.layout, tuple(self._known.columns))
        if self._held.size > self._session.limits.memory_bytes // _HELD_SHARE:
            self.insert_held()
        return True

    def insert_held(self) -> None:
        """Inserts the rows that are held so far into a table."""
        held, self._held = self._held, None
        if held is None:
            return
        layout, shapes = self._place(held)
        table = self._last_table() if layout == self._known.layout else self._new_table(layout, shapes)
        names = "".join(f", {name_sql(name)}" for name, _ in columns(layout))
        with self._chunk(held.table()):
            rows = held.cast(layout, "chunk")
            self._session.execute(f"INSERT INTO {table.name} ({SHAPE_COLUMN}{names}) {rows}")
        self._added(table, held.size)
        del held
        pa.default_memory_pool().release_unused()

    def _place(self, held: HeldRows) -> tuple[Layout, tuple[Object, ...]]:
        """Returns the layout to cast the held rows to, with its shapes. It is the current one, unless that keeps as
        text what they have in columns."""
        layout = self._known.layout
        return (layout, tuple(self._known.columns)) if can_cast(held.layout, layout) else held.last

    def insert_texts(self, rows: pa.Table) -> None:
        """Inserts rows that are kept as text: `_shape`, `_body`, then the columns of the key."""
        with self._chunk(rows):
            if self._text_table is None:
                self._text_table = "text_rows"
                self._session.execute(f"CREATE TEMP TABLE {self._text_table} AS SELECT * FROM chunk")
            else:
                self._session.execute(f"INSERT INTO {self._text_table} SELECT * FROM chunk")
        self._spilled.add(self._text_table, rows.nbytes, list)

    def _added(self, table: StagingTable, size: int) -> None:
        self._spilled.add(table.name, size, lambda: self._order(table.layout))

    def _insert(
        self,
        table: StagingTable,
        lines: pa.Array,
        shape: str,
        ids: pa.Array | None = None,
        *,
        read_all: bool = False,
        together: ProvenFamilies = NO_FAMILIES,
    ) -> None:
        """Inserts lines into a table. With `read_all`, all rows are parsed before their shape is known, and `shape` may
        use the result. `together` comes first."""
        numbers = pa.array(np.arange(len(lines), dtype=np.int64))
        chunk = {"n": numbers, "line": lines} if ids is None else {"n": numbers, "line": lines, "id": ids}
        read_columns = LayoutColumns(table.layout, self._known.columns, texts=ids is not None).all()
        rows = self._parsed(table.layout, shape, read_all=read_all, together=together)
        values = "".join(f", {each.sql}" for each in read_columns)
        with self._chunk(pa.table(chunk)), self._masks(together):
            self._session.execute(
                f"INSERT INTO {table.name} SELECT {SHAPE}, CASE WHEN {SHAPE} IS NULL THEN n END{values} FROM ({rows})"
            )

    def _parsed(self, layout: Layout, shape: str, *, read_all: bool, together: ProvenFamilies) -> str:
        """Returns a query for the number, the shape and the parsed struct of each row of `chunk`."""
        read = structure(layout)
        row = f"json_transform(line, {text_sql(read)})" if read else "NULL"
        if together.masks:
            return together.rows(f"SELECT *, {row} AS {ROW} FROM chunk", shape)
        if read_all:
            return f"SELECT n, {shape} AS {SHAPE}, {ROW} FROM (SELECT *, {row} AS {ROW} FROM chunk)"
        row = f"CASE WHEN {SHAPE} IS NOT NULL THEN {row} END"
        return f"SELECT n, {SHAPE}, {row} AS {ROW} FROM (SELECT *, {shape} AS {SHAPE} FROM chunk)"

    def _masks(self, together: ProvenFamilies) -> AbstractContextManager[None]:
        if not together.masks:
            return nullcontext()
        masks = together.table(self._known.columns)
        # As a reader the masks have no size, so the engine joins the rows with them, and never joins them with a table
        # of all rows.
        return self._session.registered("masks", masks.to_reader())

    @contextmanager
    def _chunk(self, table: pa.Table) -> Iterator[None]:
        """Registers the table as `chunk` within the context."""
        with self._session.registered("chunk", _in_slices(table)):
            yield

    def _misses(self, table: StagingTable) -> Misses:
        found = self._session.table(f'SELECT "#miss" AS miss FROM {table.name} WHERE "#miss" IS NOT NULL ORDER BY miss')
        if found.num_rows:
            self._session.execute(f'DELETE FROM {table.name} WHERE "#miss" IS NOT NULL')
        return np.asarray(found["miss"].to_numpy(), dtype=np.int64)

    def _table(self) -> StagingTable:
        """Returns the table for the next rows."""
        self.insert_held()  # so that rows keep the order in which they come
        return self._last_table()

    def _last_table(self) -> StagingTable:
        """Returns the last table if it has all columns of the current layout, otherwise a new one."""
        layout = self._known.layout
        if not self._tables or self._tables[-1].layout != layout:
            return self._new_table(layout, tuple(self._known.columns))
        return self._tables[-1]

    def _new_table(self, layout: Layout, shapes: tuple[Object, ...]) -> StagingTable:
        name = f"staged{len(self._tables)}"
        listed = "".join(f", {name_sql(each.name)} {each.type}" for each in LayoutColumns(layout, {}).all())
        self._session.execute(f'CREATE TEMP TABLE {name} (_shape INTEGER, "#miss" BIGINT{listed})')
        self._tables.append(StagingTable(name, layout, shapes))
        return self._tables[-1]

    def patterns(self) -> list[tuple[int, str]]:
        """Returns the numbers of shapes, with their regular expressions."""
        found: list[tuple[Object, str]] = []
        for shape in self._known.frequent():
            if any(kind_at(shape, path) == STRING for path in self._times):
                continue  # a regular expression cannot show which strings are not times
            text = pattern(shape)
            if text is not None:
                found.append((shape, text))
            if len(found) == _PATTERNS_MAX:
                break
        return [(self._known.columns[shape], text) for shape, text in found]


def _in_slices(table: pa.Table) -> pa.Table:
    """Returns the rows in pieces that threads can share."""
    return pa.Table.from_batches(table.to_batches(max_chunksize=_SLICE_ROWS), table.schema)


class SpilledTables:
    """Moves the rows of tables that grow too large to files beside them.

    DuckDB moves a table that grows out of memory to the disk itself, except for a tenth of it, which is too much for a
    table of ten times the memory. The files are in the order of the key, so that reading a range of it reads only a
    part of each."""

    def __init__(self, session: DuckSession) -> None:
        self._session = session
        self._bytes_max = session.limits.memory_bytes // _SPILL_SHARE
        self._held: dict[str, int] = {}  # the size of each table's rows, as text
        self.files: dict[str, list[File]] = {}  # the files of each table

    def add(self, table: str, size: int, by: Callable[[], list[str]]) -> bool:
        """Counts rows of that size, and spills the table if it is too large. Returns whether it did. `by` returns the
        terms of the order in which the rows will be read."""
        self._held[table] = self._held.get(table, 0) + size
        if self._held[table] < self._bytes_max:
            return False
        files = self.files.setdefault(table, [])
        file = File(self._session.folder) / f"{table}-{len(files)}.parquet"
        terms = by()
        order = f" ORDER BY {', '.join(terms)}" if terms else ""
        self._session.execute(
            f"COPY (SELECT * FROM {table}{order}) TO {text_sql(str(file))} "
            f"(FORMAT parquet, COMPRESSION lz4, ROW_GROUP_SIZE {_SPILL_ROW_GROUP_ROWS})"
        )
        files.append(file)
        self._session.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT * FROM {table} WHERE false")
        self._held[table] = 0
        return True

    def view(self, table: str) -> str:
        """Returns the name of a table or view with all of its rows. Called when no more rows follow."""
        files = self.files.get(table)
        if not files:
            return table
        listed = ", ".join(text_sql(str(file)) for file in files)
        self._session.execute(
            f"CREATE OR REPLACE TEMP VIEW {table}_whole AS "
            f"SELECT * FROM read_parquet([{listed}]) UNION ALL SELECT * FROM {table}"
        )
        return f"{table}_whole"
