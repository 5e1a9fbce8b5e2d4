"""One session with a lake, Iceberg and Delta: rows go from each to the others by SQL. Tables of both kinds also live in
a repository, through the S3 gateway. Prints what it saw, as JSON. Run by test_table_formats.py.
"""

import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

import lochan.spark

COUNT = "SELECT count(*), sum(k), max(name), min(ts) FROM "


def main(settings: str, lake: str, folder: str, repository: str) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name, value in json.loads(settings).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    found = {each.__name__: played(each, spark, lake, folder, repository) for each in (copied, merged, framed, inside)}
    print(json.dumps(found, default=str))
    spark.stop()


def played(part: Callable[..., Any], *given: Any) -> Any:
    try:
        return part(*given)
    except Exception:
        return {"failed": traceback.format_exc()}


def copied(spark: SparkSession, lake: str, folder: str, repository: str) -> Any:
    """From the lake into each, and back from each into the lake."""
    spark.sql("CREATE NAMESPACE ice.db")
    spark.sql("CREATE TABLE ice.db.logs USING iceberg AS SELECT * FROM lake.logs")
    spark.sql(f"CREATE TABLE logs USING delta LOCATION '{folder}/delta/logs' AS SELECT * FROM lake.logs")
    spark.sql("CREATE TABLE lake.from_iceberg AS SELECT * FROM ice.db.logs")
    spark.sql("CREATE TABLE lake.from_delta AS SELECT * FROM logs")
    spark.sql("INSERT INTO lake.from_delta SELECT * FROM ice.db.logs")
    names = ("lake.logs", "ice.db.logs", "logs", "lake.from_iceberg", "lake.from_delta")
    return {name: row(spark, COUNT + name) for name in names}


def merged(spark: SparkSession, lake: str, folder: str, repository: str) -> Any:
    """Tables that know MERGE take what is new from a branch of the lake."""
    for table in ("ice.db.logs", "logs"):
        source = "(SELECT k, name, ts FROM lake.logs VERSION AS OF 'dev') AS new"
        merge = f"MERGE INTO {table} AS old USING {source} ON old.k = new.k"
        spark.sql(f"{merge} WHEN MATCHED THEN UPDATE SET name = new.name WHEN NOT MATCHED THEN INSERT *")
    joined = "lake.`logs@dev` a JOIN ice.db.logs b USING (k) JOIN logs c USING (k)"
    where = "a.name = b.name AND b.name = c.name"
    return {
        "iceberg": row(spark, "SELECT count(*), max(name) FROM ice.db.logs"),
        "delta": row(spark, "SELECT count(*), max(name) FROM logs"),
        "joined": row(spark, f"SELECT count(*) FROM {joined} WHERE {where}"),
        "lake": row(spark, "SELECT count(*), max(name) FROM lake.logs"),
    }


def framed(spark: SparkSession, lake: str, folder: str, repository: str) -> Any:
    """The functions of lochan.spark in a session whose parser and catalog are others."""
    frame = lochan.spark.read(spark, "logs", lake=lake, where="k >= 5")
    frame.writeTo("ice.db.few").using("iceberg").create()
    landed = lochan.spark.write(spark.table("ice.db.few"), "from_iceberg", lake=lake, mode="overwrite")
    return {"landed": landed.rows, "now": row(spark, "SELECT count(*), min(k) FROM lake.from_iceberg")}


def inside(spark: SparkSession, lake: str, folder: str, repository: str) -> Any:
    """A Delta table in a repository: a branch of the repository is a branch of the table."""
    rows = spark.range(10).withColumnRenamed("id", "k")
    rows.write.format("delta").save(f"{repository}/main/delta")
    spark.sql(f"CREATE TABLE inner.db.t (k BIGINT) USING iceberg LOCATION '{repository}/main/iceberg/db/t'")
    rows.writeTo("inner.db.t").append()
    return {
        "delta": row(spark, f"SELECT count(*), sum(k) FROM delta.`{repository}/main/delta`"),
        "iceberg": row(spark, "SELECT count(*), sum(k) FROM inner.db.t"),
    }


def row(spark: SparkSession, statement: str) -> list[Any]:
    return list(spark.sql(statement).collect()[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
