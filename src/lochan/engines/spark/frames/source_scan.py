"""The scan of a pool for the data source if Spark itself scans the files: the same rows and columns as its parts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType, StructType

from lochan.engines.query_context import QueryContext
from lochan.engines.spark.file_access import check_objects, hadoop_files
from lochan.engines.spark.frames.filters import Filter, pruning_tests
from lochan.engines.spark.frames.origin import marked_schema
from lochan.engines.spark.frames.read_plan import ReadPlan, ReadRequest, plan
from lochan.engines.spark.frames.row_origin import origin_sql
from lochan.engines.spark.frames.scan_plan import ScanPlan, TableColumn
from lochan.engines.spark.frames.typed_columns import arrow_schema
from lochan.query.dialects.spark_words import name_sql
from lochan.store.open import StoreLocation


async def source_scan(at: QueryContext, request: ReadRequest, own: StructType | None = None) -> ScanPlan:
    """Plans a scan. `own` is the user's schema. Raises QueryError, NotFound, and Refused for rows that make no table
    and for a store that Spark cannot read."""
    hadoop_files(at.place)
    read = await plan(at, request)
    return ScanPlan(at.place, read, tuple(_columns(at.place, read, own)))


async def pruned_scan(at: QueryContext, request: ReadRequest, seen: ScanPlan, filters: Sequence[Filter]) -> ScanPlan:
    """Returns what is left of a scan after filters of Spark; its objects are checked. Raises Gone or Corrupt."""
    kinds = seen.kinds
    types = {each.name: each.dataType for each in _types(seen.read)}
    same_kinds = {each.name: kinds[each.name] for each in seen.columns if each.type == types.get(each.name)}
    read = await plan(at, request, pruning_tests(filters, same_kinds))
    made = ScanPlan(at.place, read, seen.columns)
    await check_objects(None, at, [each for scan in made.scans.values() for each in scan.objects])
    return made


def source_schema(scan: ScanPlan) -> str:
    """Returns the schema as Spark's JSON. The columns carry the commit that they are read at."""
    return marked_schema(StructType.fromJson(json.loads(scan.schema_json)), scan.read.origin).json()


def _types(read: ReadPlan) -> StructType:
    return from_arrow_schema(arrow_schema(read.row, read.wide))


def _columns(place: StoreLocation, read: ReadPlan, own: StructType | None) -> Iterator[TableColumn]:
    """Yields the columns of the rows, and those with the place of a row. A value that does not fit a type of the user's
    own schema is an error when it is read."""
    found = {each.name: (each.dataType, name_sql(each.name)) for each in _types(read)}
    found |= {name: (StringType(), origin_sql(name, place, read.origin)) for name in read.origins}
    wanted = ((name, type) for name, (type, _) in found.items())
    for name, type in wanted if own is None else ((each.name, each.dataType) for each in own):
        type_found, sql = found[name]
        yield TableColumn(name, type, sql if type == type_found else f"CAST({sql} AS {type.simpleString()})")
