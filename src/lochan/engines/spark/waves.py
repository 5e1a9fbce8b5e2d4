"""Returns the rows of a frame some partitions at a time, in their order, so that the driver never holds more than a few
of them.

Partitions must be small, because rows come to the driver by whole ones. This module also sets how finely Spark divides
the work of a query."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from sqlglot import exp

from lochan.engines.duckdb.limits import Limits

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


Wave = list[pa.RecordBatch]

FEW_ROWS = 10_000
_LEAST, _MOST, _USUAL = 2 << 20, 32 << 20, 128 << 20  # bytes of Parquet in a partition; the last is Spark's own default
_GROWN = 6  # rows in memory are about this many times larger than in Parquet
_PARTITIONS_MAX = 10_000
_GROWTH = 4  # how much larger than the last one a wave may be
_AT_ONCE_MAX = 4_096


class Sizes(NamedTuple):
    partition_bytes: int  # bytes of Parquet in a partition
    wave_bytes: int  # bytes of rows that come at once: one wave is read, one waits, one comes, and the JVM has it again
    first_wave: int  # partitions in the first wave, before their size is known
    few: bool  # whether there are a handful of rows, which all come at once

    def fit(self, session: SparkSession, read_bytes: int) -> None:
        """Sets the sizes in the session. Two queries at once may get each other's sizes, which changes no row."""
        parts = max(min(os.cpu_count() or 1, 8), read_bytes // min(self.partition_bytes, _MOST))
        session.conf.set("spark.sql.files.maxPartitionBytes", str(self.partition_bytes))
        session.conf.set("spark.sql.adaptive.advisoryPartitionSizeInBytes", str(min(self.partition_bytes * 2, _MOST)))
        session.conf.set("spark.sql.shuffle.partitions", str(min(parts, _PARTITIONS_MAX)))


def sizes_for(query: exp.Query, limits: Limits) -> Sizes:
    """Returns the sizes for a query, depending on whether few rows are made of many, or as many as are read."""
    memory, few = limits.memory_bytes, _few(query)
    if few or _sums_up(query):
        return Sizes(_USUAL, memory // 8, _PARTITIONS_MAX, few)
    partition = max(_LEAST, min(memory // 128, _MOST))
    return Sizes(partition, memory // 8, memory // 4 // (partition * _GROWN), few)


def _few(query: exp.Query) -> bool:
    limit = query.args.get("limit")
    return isinstance(limit, exp.Limit) and limit.expression.is_int and int(limit.expression.this) <= FEW_ROWS


def _sums_up(query: exp.Query) -> bool:
    return any(each.args.get("group") or each.find(exp.AggFunc) for each in query.find_all(exp.Select))


def waves(frame: DataFrame, sizes: Sizes) -> Iterator[Wave]:
    """Yields the rows. Call it on the thread that the jobs belong to."""
    if hasattr(frame, "_jdf"):
        return _from_jvm(frame, sizes)
    return _from_remote(frame)


def whole(frame: DataFrame) -> Iterator[Wave]:
    """Returns few rows at once: Spark reads one partition after the other until it has as many as a limit asks for."""
    yield frame.toArrow().to_batches()


def schema_of(frame: DataFrame) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(frame.schema)


def _from_jvm(frame: DataFrame, sizes: Sizes) -> Iterator[Wave]:
    """Yields waves that are about as large as allowed, with at least one partition each. The work before the last
    shuffle runs once, with the first wave. A wave that is too large for Spark's own limit of a result is requested
    again, partition by partition."""
    jvm: Any = frame._jdf
    context = frame.sparkSession.sparkContext
    batches = jvm.toArrowBatchRdd().toJavaRDD()
    count = batches.getNumPartitions()
    schema = schema_of(frame)
    size, at = max(min(context.defaultParallelism, sizes.first_wave), 1), 0
    while at < count:
        stop = min(at + size, count)
        try:
            wave = _wave(context, batches, schema, range(at, stop))
        except Exception as error:
            if size == 1 or "maxResultSize" not in str(error):
                raise
            size = 1
            continue
        yield wave
        each = max(sum(batch.nbytes for batch in wave) // (stop - at), 1)
        size = max(1, min(size * _GROWTH, sizes.wave_bytes // each, _AT_ONCE_MAX))
        at = stop


def _wave(context: Any, batches: Any, schema: pa.Schema, partitions: range) -> Wave:
    from pyspark.serializers import NoOpSerializer
    from pyspark.util import _load_from_socket

    numbers = context._gateway.jvm.java.util.ArrayList()
    for number in partitions:
        numbers.append(number)
    served = context._jvm.PythonRDD.runJob(context._jsc.sc(), batches, numbers)
    return [
        pa.ipc.read_record_batch(pa.py_buffer(data), schema) for data in _load_from_socket(served, NoOpSerializer())
    ]


def _from_remote(frame: Any) -> Iterator[Wave]:
    """Yields the rows of a Connect server, which sends them in order."""
    client, schema = frame._session.client, schema_of(frame)
    plan = frame._plan
    for table in client.to_table_as_iterator(plan.to_proto(client), plan.observations):
        if isinstance(table, pa.Table):
            yield table.cast(schema).to_batches()
