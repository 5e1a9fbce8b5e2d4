"""Rows of data objects into new ones: as they lie in the files, column by column, so that each keeps its shape.

Objects that keep their rows as text go through the loader once more; the others are put under one layout where that
holds them all, and keep their own where it does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
from sqlglot import exp

from lochan.engines.duckdb.earlier_times import Modernized
from lochan.engines.duckdb.load.known_shapes import KnownShapes
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.objects import Objects, WrittenObject
from lochan.engines.duckdb.load.relation import StagedRelation, relations
from lochan.engines.duckdb.load.sql import name_sql, text_sql
from lochan.engines.duckdb.load.staging import StagingTable
from lochan.engines.duckdb.session import DuckSession
from lochan.formats.pool_settings import PoolSettings
from lochan.ingest.lines import Lines
from lochan.pools.faults import FAIL, Faults
from lochan.pools.forms import Form
from lochan.pools.layout import BODY_COLUMN, SHAPE_COLUMN, lay_out
from lochan.pools.shape import Object
from lochan.query.compile.plan import RowTest
from lochan.query.dialects import render
from lochan.query.sources.knowledge import Knowledge
from lochan.query.sources.values import absent, value

_FILE = "scanned file"  # what the files are called in SQL: no field's name should be taken for it


class Rewriting:
    """`session` reads the files; `spare` is another one, for rows that are text. `bytes` are those of the files.

    `whole`: rows are put under the layout of all that is known, also of what was not added; so several who have some of
    the files each put them under the same."""

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
        self._modernized = Modernized(knowledge, settings.times)
        self._tables: list[StagingTable] = []
        self._added: list[Form] = []
        self._loader = Loader(spare, settings, Faults(FAIL))

    def add(self, form: Form, paths: Sequence[str], without: RowTest | None = None) -> None:
        """The rows of these files, which all have this form; but for those that pass the test."""
        if form.body:
            self._add_texts(form, paths, without)
            return
        view = f"form{len(self._tables)}"
        shown = list(self._modernized.selected(form))
        self._session.execute(f"CREATE TEMP VIEW {view} AS {self._select(form, shown, paths, without)}")
        laid = self._modernized.laid(form)
        self._tables.append(StagingTable(view, laid.layout, laid.shapes))
        self._added.append(form)

    def add_laid_out(self, table: str) -> None:
        """Rows as somebody else's `laid_out` gave them, who knows the same."""
        shapes = self._shapes()
        self._tables.append(StagingTable(table, lay_out(shapes), tuple(shapes)))

    def laid_out(self) -> tuple[KnownShapes, list[StagedRelation]]:
        """All that was added, as queries."""
        known = self._known()
        return known, self._relations(known)

    def written(self) -> Iterator[WrittenObject]:
        """One file at a time, which is then the caller's."""
        known, found = self.laid_out()
        times = self._modernized.split(self._forms())
        objects = Objects(self._session, known, self._settings, self._bytes, times)
        for relation in found:
            yield from objects.write(relation)
        yield from self._loader.objects()

    def _forms(self) -> list[Form]:
        return [form for form in self._knowledge.forms if not form.body] if self._whole else self._added

    def _shapes(self) -> list[Object]:
        """Those that have columns; of what was added, or of all that is known."""
        if self._whole:
            found = (shape for form in self._forms() for shape in self._modernized.laid(form).shapes)
        else:
            found = (shape for table in self._tables for shape in table.shapes)
        return list(dict.fromkeys(found))

    def _known(self) -> KnownShapes:
        known = KnownShapes([key.path for key in self._settings.keys])
        known.by_id.update(self._modernized.numbers)
        laid_out = dict.fromkeys(self._shapes())
        known.columns.update((shape, id) for id, shape in self._modernized.numbers.items() if shape in laid_out)
        known.numbered(laid_out)  # some have no rows
        return known

    def _relations(self, known: KnownShapes) -> list[StagedRelation]:
        shapes = list(known.columns)
        layout = lay_out(shapes)
        if not layout.body:
            return relations(self._tables, layout, known, shapes)
        return [each for table in self._tables for each in relations([table], table.layout, known, table.shapes)]

    def _add_texts(self, form: Form, paths: Sequence[str], without: RowTest | None) -> None:
        shown = [(name_sql(BODY_COLUMN), BODY_COLUMN)]
        for batch in self._session.stream(self._select(form, shown, paths, without)):
            texts = batch.column(0).cast(pa.string())
            self._loader.take(Lines("rows", texts, valid=True, first=1))

    def _select(
        self, form: Form, shown: Sequence[tuple[str, str]], paths: Sequence[str], without: RowTest | None
    ) -> str:
        """Each column as its SQL and its name."""
        if without is None:
            made = ", ".join(f"{sql} AS {name_sql(name)}" for sql, name in shown)
            return f"SELECT {made} FROM {files_sql(paths)}"
        inner = ", ".join(f"{sql} AS p{number}" for number, (sql, _) in enumerate(shown))
        outer = ", ".join(f"p{number} AS {name_sql(name)}" for number, (_, name) in enumerate(shown))
        tested = tested_sql(form, self._knowledge, without, inner, files_sql(paths))
        return f"SELECT {outer} FROM {tested} WHERE NOT coalesce({without.sql}, false)"


class Matched(NamedTuple):
    path: str
    rows: int


def matched(
    session: DuckSession, knowledge: Knowledge, test: RowTest, files: Mapping[Form, Sequence[str]]
) -> list[Matched]:
    """How many rows of each file pass the test; files without one are left out."""
    found: list[Matched] = []
    for form, paths in files.items():
        tested = tested_sql(form, knowledge, test, "filename AS p0", files_sql(paths, "filename = true"))
        counts = session.execute(f"SELECT p0, count(*) FROM {tested} WHERE {test.sql} GROUP BY p0")
        found += [Matched(path, rows) for path, rows in counts]
    return found


def tested_sql(form: Form, knowledge: Knowledge, test: RowTest, shown: str, files: str) -> str:
    """A subquery with the leaves that the test asks for, and what is to be shown beside them."""
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
