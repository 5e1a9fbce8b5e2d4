"""A user's program on a cluster: frames to a lake in a bucket and back, with a task that Spark runs twice. Prints what
it has seen. Run by test_cluster.py."""

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

import lochan.spark

SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.2",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "500ms",
    "spark.sql.shuffle.partitions": "3",
}


def main(master: str, folder: str) -> None:
    builder = SparkSession.builder.master(master)
    for name, value in SPECULATION.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    lochan.spark.register(spark)

    def slow(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The first try of the first part takes for ever, and is given up when the second is through."""
        context = TaskContext.get()
        assert context is not None
        yield from batches
        if context.partitionId() == 0:
            Path(folder, f"try-{context.attemptNumber()}").touch()
            time.sleep(0 if context.attemptNumber() else 300)

    frame = spark.range(400, numPartitions=4).withColumnRenamed("id", "k")
    frame.mapInArrow(slow, "k long").write.format("lochan").mode("append").save("logs")
    landed = lochan.spark.write(frame, "logs@main", message="by key")
    lochan.spark.write(frame.limit(50), "files@main/t/")
    read = lochan.spark.read(spark, "logs", where="k >= 100")
    found = {
        "tries": sorted(each.name for each in Path(folder).glob("try-*")),
        "landed": landed.rows,
        "native": [read.count(), len(read.inputFiles())],
        "scheme": read.inputFiles()[0].partition(":")[0],
        "source": spark.read.format("lochan").load("logs").groupBy().sum("k").collect()[0][0],
        "files": lochan.spark.read(spark, "files@main/t/").count(),
    }
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
