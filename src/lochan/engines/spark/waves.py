"""The rows of a frame, some partitions at a time and in their order: the driver never holds more than a few of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lochan.engines.spark.sizes import Sizes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Wave = list[pa.RecordBatch]

_GROWTH = 4
_AT_ONCE_MAX = 4_096


def waves(frame: DataFrame, sizes: Sizes) -> Iterator[Wave]:
    """On the thread whose jobs these are to be."""
    if hasattr(frame, "_jdf"):
        return _from_jvm(frame, sizes)
    return _from_remote(frame)


def whole(frame: DataFrame) -> Iterator[Wave]:
    """For few rows: Spark looks into one partition after the other until it has as many as a limit asks for."""
    yield frame.toArrow().to_batches()


def schema_of(frame: DataFrame) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(frame.schema)


def _from_jvm(frame: DataFrame, sizes: Sizes) -> Iterator[Wave]:
    """A wave is about as large as it may be, but one partition at least. What comes before the last shuffle runs once,
    with the first wave. A wave that is too large for Spark's own limit of a result is asked for again, partition by
    partition."""
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

    wanted = context._gateway.jvm.java.util.ArrayList()
    for number in partitions:
        wanted.append(number)
    served = context._jvm.PythonRDD.runJob(context._jsc.sc(), batches, wanted)
    return [
        pa.ipc.read_record_batch(pa.py_buffer(data), schema) for data in _load_from_socket(served, NoOpSerializer())
    ]


def _from_remote(frame: Any) -> Iterator[Wave]:
    """A Connect server sends them as they come, in order."""
    client, schema = frame._session.client, schema_of(frame)
    plan = frame._plan
    for table in client.to_table_as_iterator(plan.to_proto(client), plan.observations):
        if isinstance(table, pa.Table):
            yield table.cast(schema).to_batches()
