"""A program for spark-submit that uses a lake as a catalog and as frames. Prints what it saw, as JSON. Run by
test_cluster.py.
"""

import json
import sys
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

import lochan.spark


def main(lake: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    found = {
        "catalog": list(spark.sql("SELECT count(*), sum(k) FROM lake.logs WHERE k >= 100").collect()[0]),
        "written": lochan.spark.write(spark.range(10).withColumnRenamed("id", "k"), "more", lake=lake).rows,
    }
    spark.sql("INSERT INTO lake.more SELECT k FROM lake.logs WHERE k < 5")
    found["inserted"] = list(spark.sql("SELECT count(*), sum(k) FROM lake.more").collect()[0])
    paths = spark.range(4, numPartitions=4).mapInArrow(where, "file string").distinct().collect()
    print(json.dumps({**found, "obstore": [row.file for row in paths]}))
    spark.stop()


def where(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """From where an executor imports what is no Python."""
    import obstore

    for _ in batches:
        yield pa.RecordBatch.from_pydict({"file": [obstore.__file__]})


if __name__ == "__main__":
    main(*sys.argv[1:])
