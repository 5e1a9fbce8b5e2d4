"""Reads the schemas of very many Parquet files: tasks read their footers, and send each schema once.

The driver reads a footer again that a task cannot read, and raises its error."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark.errors import explain_error
from lochan.engines.spark.executors import ship
from lochan.engines.spark.frames.table_schema import FileSchema
from lochan.engines.spark.object_stats import FEW, at_once
from lochan.errors import LochanError
from lochan.formats.entry import Entry
from lochan.store.open import StoreLocation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ReadSchema = Callable[[Entry], Awaitable[FileSchema]]
OpenReader = Callable[[StoreLocation], ReadSchema]

_AT_ONCE = 32
_TASK_FILES = 512  # files whose footers one task reads
_SCHEMA = pa.schema([("numbers", pa.list_(pa.int64())), ("schema", pa.binary()), ("is_odd", pa.bool_())])
_SPARK_SCHEMA = "numbers array<bigint>, schema binary, is_odd boolean"
_Distinct = tuple[bytes, bool]  # a schema as Arrow encodes it, and whether it is odd


async def schemas_of(
    entries: Sequence[Entry], read: ReadSchema, spark: SparkSession | None, place: StoreLocation, opened: OpenReader
) -> list[FileSchema]:
    """Returns the schemas. `opened` makes on an executor what `read` is here. Raises the errors of `read`."""
    schema_of: dict[int, FileSchema] = {}
    if spark is not None and len(entries) > FEW:
        schema_of = await asyncio.to_thread(_by_tasks, spark, place, opened, entries)
    left = [number for number in range(len(entries)) if number not in schema_of]
    found = await at_once(_AT_ONCE, [read(entries[number]) for number in left])
    schema_of |= zip(left, found, strict=True)
    return [schema_of[number] for number in range(len(entries))]


def _by_tasks(
    spark: SparkSession, place: StoreLocation, opened: OpenReader, entries: Sequence[Entry]
) -> dict[int, FileSchema]:
    lots = -(-len(entries) // _TASK_FILES)
    table = pa.table(
        {
            "number": pa.array(range(len(entries)), pa.int64()),
            "lot": pa.array((number % lots for number in range(len(entries))), pa.int32()),
            "entry": pa.array([msgspec.msgpack.encode(entry) for entry in entries], pa.binary()),
        }
    )
    try:
        ship(spark)
        frame = spark.createDataFrame(table).repartitionById(lots, "lot")
        found = frame.mapInArrow(partial(_schemas, place.for_others(), opened), _SPARK_SCHEMA).toArrow()
    except Exception as error:  # any error of the JVM
        raise explain_error(error, STANDARD) from error
    made: dict[int, FileSchema] = {}
    for row in found.to_pylist():
        schema = pa.ipc.read_schema(pa.py_buffer(row["schema"]))
        made |= {number: FileSchema(entries[number].path, schema, row["is_odd"]) for number in row["numbers"]}
    return made


def _schemas(place: StoreLocation, opened: OpenReader, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Reads footers on an executor."""
    found: defaultdict[_Distinct, list[int]] = defaultdict(list)
    for batch in batches:
        entries = [_decoder.decode(data) for data in batch.column("entry").to_pylist()]
        read = opened(place)
        seen = asyncio.run(at_once(_AT_ONCE, [_read_distinct(read, entry) for entry in entries]))
        for number, each in zip(batch.column("number").to_pylist(), seen, strict=True):
            if each is not None:
                found[each].append(number)
    for (schema, is_odd), numbers in found.items():
        yield pa.RecordBatch.from_pylist([{"numbers": numbers, "schema": schema, "is_odd": is_odd}], _SCHEMA)


async def _read_distinct(read: ReadSchema, entry: Entry) -> _Distinct | None:
    try:
        found = await read(entry)
    except LochanError:
        return None
    return found.schema.serialize().to_pybytes(), found.is_odd


_decoder = msgspec.msgpack.Decoder(Entry)
