"""Writes rows of data objects into new ones, column by column, so that each keeps its shape.

Objects that keep their rows as text go through the loader again. The others get one layout if it holds them all, and
keep their own otherwise. So not all objects can be merged: `mergeable_groups` returns those that can.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from sqlglot import exp

from lochan.engines.duckdb.data_objects import entries_at, place_objects, sessions, store_objects
from lochan.engines.duckdb.files import Files
from lochan.engines.duckdb.limits import STANDARD, Limits
from lochan.engines.duckdb.load.known_shapes import KnownShapes
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.objects import Objects, WrittenObject
from lochan.engines.duckdb.load.relation import StagedRelation, StagingTable, can_cast, relations
from lochan.engines.duckdb.load.sql import name_sql, text_sql
from lochan.engines.duckdb.session import DuckSession
from lochan.engines.duckdb.time_upgrade import TimeUpgrade
from lochan.errors import Refused
from lochan.formats.entry import Entry
from lochan.formats.pool_settings import PoolSettings
from lochan.ingest.lines import Lines
from lochan.pools.forms import Form, Forms
from lochan.pools.json_row import FAIL, Faults, Row
from lochan.pools.layout import BODY_COLUMN, SHAPE_COLUMN, lay_out
from lochan.pools.shape import Object
from lochan.pools.snapshot import Snapshot
from lochan.query.compile.plan import RowTest
from lochan.query.dialects import render
from lochan.query.sources.knowledge import Knowledge
from lochan.query.sources.object_selection import by_form as objects_by_form
from lochan.query.sources.values import absent, value
from lochan.versioning.open_repository import OpenRepository

_FILE = "scanned file"  # the alias of the files in SQL, which no field should have
_ROW = "file_row_number"  # DuckDB's name for the number of a row in its file


class ObjectRewriter:
    """Rewrites objects. `session` reads the files, `spare` is for rows that are kept as text. `bytes` is the size of
    the files.

    With `whole`, rows get the layout of all known forms, not only of the added ones, so that several processes with
    some of the files each use the same layout."""

    def __init__(
        self,
        session: DuckSession,
        spare: DuckSession,
        settings: PoolSettings,
        knowledge: Knowledge,
        bytes: int,
        *,
        whole: bool = False,
    ) -> None:
        self._whole = whole
        self._session = session
        self._settings = settings
        self._knowledge = knowledge
        self._bytes = bytes
        self._modernized = TimeUpgrade(knowledge, settings.times)
        self._tables: list[StagingTable] = []
        self._added: list[Form] = []
        self._loader = Loader(spare, settings, Faults(FAIL))

    def add(self, form: Form, paths: Sequence[str], without: RowTest | None = None) -> None:
        """Adds the rows of these files, which all have this form, except for rows that pass the test `without`."""
        self._add(form, files_sql(paths), without)

    def add_except(self, form: Form, path: str, numbers: str) -> None:
        """Adds the rows of a file except for those whose numbers a table of the session has."""
        if _ROW in map(str.lower, form.columns):
            raise Refused(f"rows with a field {_ROW} cannot be told apart by their numbers", hint="nothing was changed")
        kept = f"{_ROW} NOT IN (SELECT number FROM {numbers})"
        self._add(form, f"(SELECT * EXCLUDE {_ROW} FROM {files_sql([path], f'{_ROW} = true')} WHERE {kept})", None)

    def add_rows(self, rows: Sequence[Row]) -> None:
        """Adds rows that are in no file."""
        self._loader.take_rows(rows)

    def _add(self, form: Form, files: str, without: RowTest | None) -> None:
        if form.body:
            self._add_texts(form, files, without)
            return
        view = f"form{len(self._tables)}"
        shown = list(self._modernized.selected(form))
        self._session.execute(f"CREATE TEMP VIEW {view} AS {self._select(form, shown, files, without)}")
        laid = self._modernized.laid(form)
        self._tables.append(StagingTable(view, laid.layout, laid.shapes))
        self._added.append(form)

    def add_laid_out(self, table: str) -> None:
        """Adds rows that another process with the same knowledge got from `laid_out`."""
        shapes = self._shapes()
        self._tables.append(StagingTable(table, lay_out(shapes), tuple(shapes)))

    def laid_out(self) -> tuple[KnownShapes, list[StagedRelation]]:
        """Returns all added rows, as queries."""
        numbered = self._known_shapes()
        return numbered, self._relations(numbered)

    def written(self) -> Iterator[WrittenObject]:
        """Yields one file at a time, which the caller must delete."""
        numbered, found = self.laid_out()
        times = self._modernized.split(self._forms())
        objects = Objects(self._session, numbered, self._settings, self._bytes, times)
        for relation in found:
            yield from objects.write(relation)
        yield from self._loader.objects()

    def _forms(self) -> list[Form]:
        return [form for form in self._knowledge.forms if not form.body] if self._whole else self._added

    def _shapes(self) -> list[Object]:
        """Returns the shapes with columns, of the added forms or of all known ones."""
        if self._whole:
            found = (shape for form in self._forms() for shape in self._modernized.laid(form).shapes)
        else:
            found = (shape for table in self._tables for shape in table.shapes)
        return list(dict.fromkeys(found))

    def _known_shapes(self) -> KnownShapes:
        numbered = KnownShapes([key.path for key in self._settings.keys])
        numbered.by_id.update(self._modernized.numbers)
        laid_out = dict.fromkeys(self._shapes())
        numbered.columns.update((shape, id) for id, shape in self._modernized.numbers.items() if shape in laid_out)
        numbered.numbered(laid_out)  # some shapes have no rows
        return numbered

    def _relations(self, known: KnownShapes) -> list[StagedRelation]:
        shapes = list(known.columns)
        layout = lay_out(shapes)
        if not layout.body:
            return relations(self._tables, layout, known, shapes)
        return [each for table in self._tables for each in relations([table], table.layout, known, table.shapes)]

    def _add_texts(self, form: Form, files: str, without: RowTest | None) -> None:
        shown = [(name_sql(BODY_COLUMN), BODY_COLUMN)]
        for batch in self._session.stream(self._select(form, shown, files, without)):
            texts = batch.column(0).cast(pa.string())
            self._loader.take(Lines("rows", texts, valid=True, first=1))

    def _select(self, form: Form, shown: Sequence[tuple[str, str]], files: str, without: RowTest | None) -> str:
        """Returns a query. `shown` has the SQL and the name of each column, `files` is the text after FROM."""
        if without is None:
            made = ", ".join(f"{sql} AS {name_sql(name)}" for sql, name in shown)
            return f"SELECT {made} FROM {files}"
        inner = ", ".join(f"{sql} AS p{number}" for number, (sql, _) in enumerate(shown))
        outer = ", ".join(f"p{number} AS {name_sql(name)}" for number, (_, name) in enumerate(shown))
        tested = tested_sql(form, self._knowledge, without, inner, files)
        return f"SELECT {outer} FROM {tested} WHERE NOT coalesce({without.sql}, false)"


def count_matches(
    session: DuckSession, knowledge: Knowledge, test: RowTest, files: Mapping[Form, Sequence[str]]
) -> dict[tuple[Form, str], int]:
    """Returns how many rows of each file pass the test, without files in which none does. A file that several objects
    share is counted once for each form: the same bytes may mean other rows."""
    found: dict[tuple[Form, str], int] = {}
    for form, paths in files.items():
        distinct = list(dict.fromkeys(paths))
        tested = tested_sql(form, knowledge, test, "filename AS p0", files_sql(distinct, "filename = true"))
        counts = session.execute(f"SELECT p0, count(*) FROM {tested} WHERE {test.sql} GROUP BY p0")
        found |= {(form, path): rows for path, rows in counts}
    return found


def tested_sql(form: Form, knowledge: Knowledge, test: RowTest, shown: str, files: str) -> str:
    """Returns a subquery with the leaves that the test needs, and the columns `shown`."""
    leaves = []
    for leaf in test.request.leaves:
        place, element = knowledge.place(form, leaf), knowledge.element(leaf)
        sql = value(place, leaf, _FILE, element) if place else absent(leaf, element)
        leaves.append(f"{render(exp.Paren(this=sql), 'duckdb')} AS {name_sql(leaf.column)}")
    if test.request.shape:
        numbers = knowledge.renumbered(form)
        arms = " ".join(f"WHEN {there} THEN {here}" for there, here in numbers.items())
        leaves.append(f"CASE {SHAPE_COLUMN} {arms} ELSE {SHAPE_COLUMN} END AS {SHAPE_COLUMN}" if arms else SHAPE_COLUMN)
    if test.request.body:
        leaves.append(BODY_COLUMN if form.body else f"NULL::VARCHAR AS {BODY_COLUMN}")
    return f"(SELECT {', '.join([shown, *leaves])} FROM {files} AS {name_sql(_FILE)}) AS {test.alias}"


def files_sql(paths: Sequence[str], options: str = "") -> str:
    listed = ", ".join(map(text_sql, paths))
    return f"read_parquet([{listed}]{f', {options}' if options else ''})"


class RewriteResult(NamedTuple):
    removed: list[Entry]
    added: list[Entry]


async def rewrite_objects(
    repository: OpenRepository,
    snapshot: Snapshot,
    indices: Sequence[int],
    files: Files,
    mint: int,
    limits: Limits = STANDARD,
) -> RewriteResult:
    """Writes the rows of these objects into new ones, in the order of the key. They are on no branch yet."""
    by_form = objects_by_form(snapshot, np.array(indices, dtype=np.int64), Forms())
    with sessions(files, limits) as engines:
        paths = await place_objects(files, snapshot, indices, engines.main.folder)
        size = int(snapshot.sizes[np.array(indices)].sum())
        rewriting = ObjectRewriter(*engines, snapshot.settings, Knowledge(by_form), size)
        for form, each in by_form.items():
            await engines.apart(partial(rewriting.add, form, [paths[index] for index in each]))
        added = await store_objects(repository, mint, rewriting.written(), engines.apart)
    return RewriteResult(entries_at(snapshot, indices), added)


def mergeable_groups(snapshot: Snapshot) -> list[list[int]]:
    """Returns groups of objects, by their numbers, that can be merged with each other. Each group is planned by
    itself."""
    by_form = objects_by_form(snapshot, snapshot.all, Forms())
    texts = [index for form, indices in by_form.items() if form.body for index in indices]
    left = [form for form in by_form if not form.body]
    found = [texts] if texts else []
    while left:
        joined = _joinable(left)
        found.append([index for form in joined for index in by_form[form]])
        left = [form for form in left if form not in joined]
    return [sorted(lot) for lot in found]


def _joinable(forms: Sequence[Form]) -> list[Form]:
    """Returns the forms that one layout holds; at least one."""
    shapes = list(dict.fromkeys(shape for form in forms for shape in form.laid_out))
    layout = lay_out(shapes)
    following = [form for form in forms if not layout.body and can_cast(form.layout, layout)]
    return following or [forms[0]]
