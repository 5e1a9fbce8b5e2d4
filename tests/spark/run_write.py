"""Writes a frame to a pool and waits forever in its last task: a driver to be killed. Run by test_spark_write.py."""

import os
import sys
import time
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

import lochan.spark


def slow_at_the_end(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch
        if batch.column(0)[-1].as_py() > 1_500:
            time.sleep(3_600)


def main(lake: str) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.memory": "512m"}
    builder = SparkSession.builder.master("local[2]")
    for name, value in options.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    lochan.spark.register(spark)
    frame = spark.range(2_000).withColumnRenamed("id", "k").repartitionByRange(4, "k")
    frame.mapInArrow(slow_at_the_end, "k long").write.format("lochan").option("lake", lake).mode("append").save("pool")


if __name__ == "__main__":
    main(sys.argv[1])
