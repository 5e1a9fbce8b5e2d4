"""Writes the staged rows as files, in the order of the key, as objects of the pool's size, each with its facts.

If there are more rows than one object takes, they are split into ranges of the key by a sample, and each range is
sorted by itself. So objects do not overlap, and no sort is larger than an object.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from lochan.engines.duckdb.load.decimals import decimal_columns, decimal_facts, decimal_sql
from lochan.engines.duckdb.load.key_order import Order
from lochan.engines.duckdb.load.known_shapes import KnownShapes
from lochan.engines.duckdb.load.relation import StagedRelation
from lochan.engines.duckdb.load.sql import name_sql, text_sql
from lochan.engines.duckdb.load.statistics import column_facts, strings_at
from lochan.engines.duckdb.session import DuckSession
from lochan.formats.pool_settings import Path as FieldPath
from lochan.formats.pool_settings import PoolSettings
from lochan.pools.facts import Facts, ShapeFacts
from lochan.pools.kinds import STRING, TIME
from lochan.pools.layout import BODY_COLUMN, SHAPE_COLUMN, DecimalColumn, Layout, body_layout, columns, lay_out

FOOTER = "lochan"  # the key of our metadata in a Parquet file's footer
ROW_GROUP_ROWS = 122_880
_LEVEL = 1  # files are 3 % larger than at the engine's default of 3, and writing takes 6/7 of the time
_SAMPLE_ROWS = 20_000
_SAMPLE_FILE_ROWS = 50_000
_SHAPES_BYTES_MAX = 256 << 10  # rows that are kept as text do not list their shapes beyond this size


class WrittenObject(NamedTuple):
    file: Path
    facts: Facts


class Objects:
    def __init__(
        self,
        session: DuckSession,
        known: KnownShapes,
        settings: PoolSettings,
        text_bytes: int,
        times: Collection[FieldPath],
        made: int = 0,
    ) -> None:
        """`text_bytes` is the size of all rows as text; a file of them is hardly ever larger. `times` are the fields
        declared as times, except for those in which strings may still be times, as in rows of earlier versions. `made`
        is the number of files that exist already."""
        self._session = session
        self._known = known
        self._settings = settings
        self._text_bytes = text_bytes
        self._times = tuple(times)
        self._keys = tuple(key.path for key in settings.keys if key.path)
        self._made = made

    def write(self, relation: StagedRelation) -> Iterator[WrittenObject]:
        """Yields one object at a time. The caller must delete its file."""
        name = f"rows{self._made}"
        self._session.execute(f"CREATE TEMP VIEW {name} AS {relation.sql}")
        order = self._order_of(relation)
        for rows in self._ranges(name, order):
            written = self._one(rows, order, relation)
            if written is not None:
                yield written

    def _one(self, rows: str, order: Order, relation: StagedRelation) -> WrittenObject | None:
        """Writes one object, or returns None if there are no rows. `rows` is the text after FROM."""
        shapes = self._shapes(rows)
        if not shapes:
            return None
        listed, layout = self._listed_shapes(relation, shapes)
        file = self._new_file()
        decimals = decimal_columns(self._session, rows, layout)
        self._copy(rows, order, file, listed, layout, decimals)
        return self._described(file, rows, order, shapes, listed, layout, decimals)

    def write_rows(self, relation: StagedRelation) -> Path:
        """Writes all rows into one file. It reads them only once, so the file's footer lists all shapes of the layout.
        REQUIRES: the layout has neither a body nor texts of JSON."""
        listed = tuple(ShapeFacts(self._known.columns[shape], shape, 0) for shape in relation.shapes)
        file = self._new_file()
        self._copy(f"({relation.sql})", self._order_of(relation), file, listed, relation.layout, ())
        return file

    def written(self, file: Path, relation: StagedRelation) -> WrittenObject:
        """Returns a file of `write_rows` as an object. REQUIRES: it has rows, and each has a shape."""
        rows = f"read_parquet({text_sql(str(file))})"
        shapes = self._shapes(rows)
        listed, layout = self._listed_shapes(relation, shapes)
        return self._described(file, rows, self._order_of(relation), shapes, listed, layout, ())

    def _new_file(self) -> Path:
        self._made += 1
        return Path(self._session.folder) / f"object{self._made - 1}.parquet"

    def _order_of(self, relation: StagedRelation) -> Order:
        return Order(relation.layout, self._settings, self._known.by_id)

    def _described(
        self,
        file: Path,
        rows: str,
        order: Order,
        shapes: tuple[ShapeFacts, ...],
        listed: tuple[ShapeFacts, ...],
        layout: Layout,
        decimals: tuple[DecimalColumn, ...],
    ) -> WrittenObject:
        keyless, low, high = self._span(rows, order)
        columns = column_facts(file, layout, listed, self._keys)
        facts = Facts(
            rows=sum(each.rows for each in shapes),
            keyless=keyless,
            key_min=low,
            key_max=high,
            shapes=listed,
            columns=(*decimal_facts(file, decimals), *columns),
            body=layout.body,
            keys=self._keys,
            decimals=decimals,
            times=self._times,
            strings=tuple(strings_at(path, layout, shapes, columns) for path in self._times),
        )
        return WrittenObject(file, facts)

    def _listed_shapes(
        self, relation: StagedRelation, shapes: tuple[ShapeFacts, ...]
    ) -> tuple[tuple[ShapeFacts, ...], Layout]:
        """Returns the shapes in the entry, and the layout that readers compute from them, which must be the file's."""
        own = [each.shape for each in shapes]
        if relation.layout.body:
            listed = shapes if _size(shapes) <= _SHAPES_BYTES_MAX else ()
            return listed, body_layout([each.shape for each in listed], self._keys)
        if lay_out(own) == relation.layout:
            return shapes, relation.layout
        absent = (shape for shape in relation.shapes if shape not in own)
        return (*shapes, *(ShapeFacts(self._known.columns[shape], shape, 0) for shape in absent)), relation.layout

    def _copy(
        self,
        rows: str,
        order: Order,
        file: Path,
        shapes: tuple[ShapeFacts, ...],
        layout: Layout,
        decimals: tuple[DecimalColumn, ...],
    ) -> None:
        footer = shapes_text(shapes)
        by = ", ".join(order.by())
        shape = f"0::INTEGER AS {SHAPE_COLUMN}" if layout.body and not shapes else SHAPE_COLUMN
        what = [shape, *([BODY_COLUMN] if layout.body else []), *(name_sql(name) for name, _ in columns(layout))]
        what += [decimal_sql(each) for each in decimals if each.column]
        self._session.execute(
            f"COPY (SELECT {', '.join(what)} FROM {rows}{f' ORDER BY {by}' if by else ''}) TO {text_sql(str(file))} "
            f"(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL {_LEVEL}, ROW_GROUP_SIZE {ROW_GROUP_ROWS}, "
            f"KV_METADATA {{{FOOTER}: {text_sql(footer)}}})"
        )

    def _shapes(self, rows: str) -> tuple[ShapeFacts, ...]:
        counts = self._session.execute(f"SELECT {SHAPE_COLUMN}, count(*) FROM {rows} GROUP BY 1 ORDER BY 2 DESC, 1")
        return tuple(ShapeFacts(id, self._known.by_id[id], count) for id, count in counts)

    def _span(self, rows: str, order: Order) -> tuple[int, bytes, bytes]:
        """Returns the number of rows without the key, and the ends of the others' keys."""
        ((keyless,),) = self._session.execute(f"SELECT count(*) FROM {rows} WHERE ({order.has_key}) IS NOT TRUE")
        ends = []
        for backwards in (False, True):
            by = ", ".join(order.by(backwards=backwards))
            if by:
                values = ", ".join(order.values_sql())
                found = self._session.execute(
                    f"SELECT {values} FROM {rows} WHERE {order.has_key} ORDER BY {by} LIMIT 1"
                )
                ends += found
        if len(ends) < 2:
            return keyless, b"", b""
        span = order.span(ends[0], ends[1])
        return keyless, span.low, span.high

    def _ranges(self, name: str, order: Order) -> list[str]:
        count = self._count(name)
        by = order.by()
        if count < 2 or not by:
            return [name]
        plain = order.plain_column()
        value, written = (sort_key(by), blob_sql) if plain is None else _comparison(*plain)
        sample = f"(SELECT {value} AS k FROM {name} USING SAMPLE {_SAMPLE_ROWS} ROWS)"
        cuts = ", ".join(f"{number / count}" for number in range(1, count))
        ((bounds,),) = self._session.execute(f"SELECT quantile_disc(k, [{cuts}]) FROM {sample} WHERE k IS NOT NULL")
        ends = [written(bound) for bound in sorted(set(bounds or ()))]
        if not ends:
            return [name]
        key = value if plain is None else plain[1]
        tests = [f"{key} <= {ends[0]}"]
        tests += [f"{key} > {low} AND {key} <= {high}" for low, high in pairwise(ends)]
        tests.append(f"{key} > {ends[-1]}")
        where = 0 if self._settings.nulls_first else -1
        tests[where] = f"({tests[where]} OR {key} IS NULL)"
        if plain is not None and self._settings.keys[0].descending:
            tests.reverse()
        return [f"(SELECT * FROM {name} WHERE {test})" for test in tests]

    def _count(self, name: str) -> int:
        """Returns how many objects to write."""
        if self._text_bytes <= self._settings.size_bytes:
            return 1
        ((rows,),) = self._session.execute(f"SELECT count(*) FROM {name}")
        if not rows:
            return 1
        file = Path(self._session.folder) / "sample.parquet"
        self._session.execute(
            f"COPY (SELECT * FROM {name} LIMIT {_SAMPLE_FILE_ROWS}) TO {text_sql(str(file))} "
            f"(FORMAT parquet, COMPRESSION zstd)"
        )
        size = file.stat().st_size * rows / min(rows, _SAMPLE_FILE_ROWS)
        file.unlink()
        count: int = max(1, min(int(rows), round(size / self._settings.size_bytes)))
        return count


def shapes_text(shapes: Sequence[ShapeFacts]) -> str:
    """Returns the text of the shapes in the footer."""
    return msgspec.json.encode([(each.id, each.shape) for each in shapes]).decode()


def _size(shapes: tuple[ShapeFacts, ...]) -> int:
    return len(msgspec.msgpack.encode(shapes))


def sort_key(by: Sequence[str]) -> str:
    """Returns the SQL for bytes that compare as rows do in the order of these terms, in any process."""
    return f"create_sort_key({', '.join(map(_sort_term, by))})"


def _sort_term(term: str) -> str:
    sql, _, nulls = term.rpartition(" NULLS ")
    value, _, way = sql.rpartition(" ")
    return f"{value}, '{way} NULLS {nulls}'"


def _comparison(kind: str, column: str) -> tuple[str, Callable[[Any], str]]:
    """Returns, for a plain column, the SQL of its value, and a function that writes a value in SQL."""
    if kind == STRING:
        return f"encode({column})", lambda value: f"decode({blob_sql(value)})"
    if kind == TIME:
        return f"epoch_us({column})", lambda value: f"make_timestamptz({value})"
    return column, str


def blob_sql(value: bytes) -> str:
    return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"
