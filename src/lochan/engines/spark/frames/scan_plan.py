"""A scan of a pool: files with their sizes and schemas, and SQL over them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import (
    BinaryType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from lochan.engines.duckdb.run import scan_names
from lochan.engines.query_context import QueryContext
from lochan.engines.spark.file_access import HadoopFiles, check_objects, hadoop_files
from lochan.engines.spark.frames.filters import Filter, Kinds, pruning_tests, where_text
from lochan.engines.spark.frames.frame import FRAME_MEANING
from lochan.engines.spark.frames.read_plan import ReadPlan, ReadRequest, kinds, plan, top_fields
from lochan.engines.spark.frames.row_identity import (
    BEFORE_COLUMN,
    COMMIT_COLUMN,
    OBJECT,
    OBJECT_COLUMN,
    ROW,
    ROW_COLUMN,
    with_identity,
)
from lochan.engines.spark.frames.typed_columns import arrow_schema, is_day, select_list
from lochan.engines.spark.scan import schema_of, with_views
from lochan.pools.objects import object_path
from lochan.query.dialects import render
from lochan.query.dialects.spark_words import name_sql, quote_text
from lochan.query.sources.scans import FileScan
from lochan.store.open import StoreLocation
from lochan.versioning.uri import Uri


@dataclass(frozen=True)
class ScanPlan:
    store: StoreLocation = field(repr=False)
    read: ReadPlan
    columns: tuple[TableColumn, ...]

    @property
    def commit(self) -> str:
        return self.read.origin.commit

    @property
    def kinds(self) -> dict[str, frozenset[str]]:
        """The kinds of the values in each column. A day is a kind of its own."""
        return {
            name: frozenset(("day",)) if is_day(column) else frozenset(kinds(column))
            for name, column in top_fields(self.read.row)
        }

    @property
    def schema_json(self) -> str:
        return StructType([StructField(each.name, each.type) for each in self.columns]).json()

    @property
    def scans(self) -> dict[str, FileScan]:
        return {name: self.read.scans.files[name] for name in scan_names(self.read.query, self.read.scans)}

    def where(self, filters: Sequence[Filter]) -> str | None:
        """Returns a test that is true for exactly the rows that pass the filters, or None if there is none."""
        return where_text(filters, self.kinds)

    @property
    def size(self) -> ScanSize:
        objects = [each for scan in self.scans.values() for each in scan.objects]
        return ScanSize(len(objects), sum(each.rows for each in objects), sum(each.size for each in objects))

    def as_json(self, metadata: Collection[str] = ()) -> dict[str, Any]:
        """Returns the plan for the reader that runs it: files with their sizes and objects, and SQL over them.
        `metadata` are columns with the place of each row."""
        views = {name: f"lochan_{name.replace(' ', '_')}" for name in self.scans}
        is_empty = not any(scan.objects for scan in self.scans.values())
        files = HadoopFiles("") if is_empty else hadoop_files(self.store)
        return {
            "scans": [
                {
                    "view": views[name],
                    "schema": schema_of(scan),
                    "files": [[files.path(each.address), each.size, object_path(each.id)] for each in scan.objects],
                }
                for name, scan in self.scans.items()
            ],
            "sql": self._sql(views, metadata),
            "identity": bool(metadata),
            "size": self.size._asdict(),
            "options": dict(files.options),
            "settings": FRAME_MEANING,
        }

    def _sql(self, views: Mapping[str, str], metadata: Collection[str]) -> str:
        query = with_identity(self.read.query) if metadata else self.read.query.copy()
        found = select_list(self.read.row, self.read.wide)
        columns = [f"{each.sql} AS {name_sql(each.name)}" for each in self.columns]
        if metadata:
            found += [name_sql(OBJECT), name_sql(ROW)]
            columns += [f"{name_sql(OBJECT)} AS {OBJECT_COLUMN}", f"{name_sql(ROW)} AS {ROW_COLUMN}"]
        inner = f"SELECT {', '.join(found) or '1 AS `_`'} FROM ({render(with_views(query, views), 'spark')})"
        sql = f"SELECT {', '.join(columns) or '1 AS `_`'} FROM ({inner})"
        return f"SELECT *, {', '.join(self._constants())} FROM ({sql})" if metadata else sql

    def _constants(self) -> list[str]:
        """Returns the columns that are made of the other columns, and of the plan."""
        members = [f"{quote_text(each.name)}, {name_sql(each.name)}" for each in self.columns]
        return [
            f"{quote_text(self.commit)} AS {COMMIT_COLUMN}",
            f"NAMED_STRUCT({', '.join(members) or quote_text('_') + ', 1'}) AS {BEFORE_COLUMN}",
        ]


class ScanSize(NamedTuple):
    """The size of what a scan reads from the store."""

    objects: int
    rows: int
    bytes: int


class TableColumn(NamedTuple):
    name: str
    type: DataType
    sql: str  # SQL over the columns that the rows have


async def scan_plan(
    at: QueryContext, uri: Uri, filters: Sequence[Filter] = (), known: Kinds | None = None, declared: str = ""
) -> ScanPlan:
    """Plans a scan. `filters` leave out objects, as far as the kinds of a column's values are `known`. `declared` are
    the columns that the table was created with, as Spark's JSON. Raises NotFound, Refused for rows that make no table,
    Gone, or Corrupt."""
    read = await plan(at, ReadRequest(uri), pruning_tests(filters, known or {}))
    schema = StructType.fromJson(json.loads(declared)) if declared else StructType()
    made = ScanPlan(at.place, read, tuple(_columns(read, schema)))
    if known is not None:  # it is to be run, and not only described
        await check_objects(None, at, [each for scan in made.scans.values() for each in scan.objects])
    return made


def _columns(read: ReadPlan, declared: StructType) -> Iterator[TableColumn]:
    """Yields the declared columns in their order, then the other fields of the rows."""
    types = {each.name: each.dataType for each in from_arrow_schema(arrow_schema(read.row, read.wide))}
    empty = {name for name, column in top_fields(read.row) if not kinds(column)}
    for each in declared:
        found = types.pop(each.name, None)
        there = found is not None and each.name not in empty
        yield _declared_column(each, found) if there else TableColumn(each.name, each.dataType, _null(each.dataType))
    for name, type in types.items():
        yield TableColumn(name, type, name_sql(name))


def _declared_column(column: StructField, found: DataType | None) -> TableColumn:
    """Returns the column with its declared type, if the stored values convert back to it without loss. An overflow is
    an error."""
    name, wanted = name_sql(column.name), column.dataType
    if isinstance(wanted, BinaryType) and isinstance(found, StringType):
        return TableColumn(column.name, wanted, f"UNBASE64({name})")
    if wanted != found and _comes_back(found, wanted):
        return TableColumn(column.name, wanted, f"CAST({name} AS {wanted.simpleString()})")
    return TableColumn(column.name, found or wanted, name)


def _comes_back(found: DataType | None, wanted: DataType) -> bool:
    match found, wanted:
        case LongType(), ByteType() | ShortType() | IntegerType() | DecimalType():
            return True
        case DoubleType(), FloatType():
            return True
        case DecimalType(), DecimalType():
            return found.scale <= wanted.scale
        case TimestampType(), TimestampNTZType():
            return True
        case _:
            return False


def _null(type: DataType) -> str:
    return f"CAST(NULL AS {type.simpleString()})"
