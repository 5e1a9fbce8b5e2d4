"""The program of a user who has Spark and S3A and has never heard of Lochan: one session, one scenario after another,
each in its own folder below `root`. Prints the result of each, as JSON.
"""

import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

assert "lochan" not in sys.modules


def main(settings: str, root: str, local: str, *names: str) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name, value in {**FAST, **json.loads(settings)}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    print(json.dumps({name: played(SCENARIOS[name], spark, f"{root}/{name}", local) for name in names}))
    spark.stop()


FAST = {
    "spark.sql.shuffle.partitions": "2",
    "spark.hadoop.fs.s3a.multipart.size": "5M",
    "spark.hadoop.fs.s3a.multipart.threshold": "8M",
    "spark.hadoop.fs.s3a.attempts.maximum": "1",  # what a retry would hide is to be seen
    "spark.hadoop.fs.s3a.retry.limit": "1",
}


def played(scenario: Callable[..., Any], spark: SparkSession, root: str, local: str) -> Any:
    try:
        return scenario(spark, root, local)
    except Exception:
        return {"failed": traceback.format_exc()}


def rows(spark: SparkSession, start: int, end: int) -> DataFrame:
    return spark.range(start, end, numPartitions=2).select(
        "id", (F.col("id") % 3).alias("part"), F.concat(F.lit("näme "), F.col("id")).alias("name")
    )


def totals(spark: SparkSession, path: str) -> list[list[int]]:
    """Count and sum of each partition, and of all."""
    table = spark.read.parquet(path)
    found = table.groupBy("part").agg(F.count("id"), F.sum("id")).orderBy("part").collect()
    assert table.where("name <> concat('näme ', id)").count() == 0
    return [list(row) for row in found]


def committed(committer: str, **options: str) -> Callable[[SparkSession, str, str], Any]:
    """Partitioned tables written, appended to, overwritten; the whole and one partition of them read."""

    def scenario(spark: SparkSession, root: str, local: str) -> Any:
        def write(frame: DataFrame, mode: str) -> None:
            writer = frame.write.mode(mode).partitionBy("part").option("fs.s3a.committer.name", committer)
            for name, value in options.items():
                writer = writer.option(name.replace("_", "."), value)
            conflict = {"append": "append", "overwrite": "replace"}.get(mode, "fail")
            writer.option("fs.s3a.committer.staging.conflict-mode", conflict).parquet(f"{root}/t")

        found: dict[str, Any] = {}
        write(rows(spark, 0, 3_000), "errorifexists")
        found["written"] = totals(spark, f"{root}/t")
        try:
            write(rows(spark, 0, 3), "errorifexists")
        except Exception as error:
            found["again"] = type(error).__name__
        write(rows(spark, 3_000, 3_300), "append")
        found["appended"] = totals(spark, f"{root}/t")
        found["pruned"] = spark.read.parquet(f"{root}/t").where("part = 1 and id < 10").count()
        write(rows(spark, 0, 30), "overwrite")
        found["overwritten"] = totals(spark, f"{root}/t")
        return found

    return scenario


def dynamic(spark: SparkSession, root: str, local: str) -> Any:
    """Only the partitions that the frame has are replaced, by Spark's own committer."""
    own = spark.newSession()
    for name, value in {
        "spark.sql.sources.commitProtocolClass": (
            "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol"
        ),
        "spark.sql.parquet.output.committer.class": "org.apache.parquet.hadoop.ParquetOutputCommitter",
        "spark.sql.sources.partitionOverwriteMode": "dynamic",
    }.items():
        own.conf.set(name, value)
    rows(own, 0, 300).write.mode("overwrite").partitionBy("part").parquet(f"{root}/t")
    rows(own, 0, 30).where("part = 1").write.mode("overwrite").partitionBy("part").parquet(f"{root}/t")
    return totals(own, f"{root}/t")


def files(spark: SparkSession, root: str, local: str) -> Any:
    """Hadoop's file system: folders made, files copied in and out, renamed, deleted, and their status."""
    jvm = spark._jvm  # Hadoop has no Python of its own
    assert jvm is not None

    def at(text: str) -> Any:
        return jvm.org.apache.hadoop.fs.Path(text)

    fs = at(root).getFileSystem(spark._jsc.hadoopConfiguration())

    def names(path: str) -> list[str]:
        return sorted(each.getPath().getName() + "/" * each.isDirectory() for each in fs.listStatus(at(path)))

    found: dict[str, Any] = {"absent": fs.exists(at(f"{root}/none")), "made": fs.mkdirs(at(f"{root}/a/b/c"))}
    found["empty"] = [fs.getFileStatus(at(f"{root}/a/b")).isDirectory(), names(f"{root}/a/b/c")]
    fs.copyFromLocalFile(at(f"file://{local}/here"), at(f"{root}/up"))
    found["up"] = names(f"{root}/up")
    found["renamed"] = fs.rename(at(f"{root}/up"), at(f"{root}/a/b/moved"))
    found["gone"] = fs.exists(at(f"{root}/up"))
    fs.copyToLocalFile(False, at(f"{root}/a/b/moved"), at(f"file://{local}/back"), True)
    found["file renamed"] = fs.rename(at(f"{root}/a/b/moved/a.txt"), at(f"{root}/a/b/moved/z.txt"))
    found["size"] = fs.getContentSummary(at(f"{root}/a")).getLength()
    found["deleted"] = fs.delete(at(f"{root}/a/b/moved/sub"), True)
    found["left"] = names(f"{root}/a/b/moved")
    top = root.rsplit("/", 1)[0]
    found["only file"] = [fs.createNewFile(at(f"{top}/only")), fs.delete(at(f"{top}/only"), False)]
    found["branches"] = names(top.rsplit("/", 1)[0] + "/")
    try:
        fs.delete(at(f"{root}/a"), False)
    except Exception as error:
        found["not empty"] = "not empty" in str(error) or "non-empty" in str(error)
    return found


def texts(spark: SparkSession, root: str, local: str) -> Any:
    """Formats without a schema, compressed, in names with spaces; one file large enough for parts."""
    frame = rows(spark, 0, 1_000).select("id", "name")
    frame.coalesce(1).write.csv(f"{root}/c s v", header=True)
    frame.write.option("compression", "gzip").json(f"{root}/json")
    wide = spark.range(0, 400_000, numPartitions=1).select("id", F.md5(F.col("id").cast("string")).alias("digest"))
    wide.write.option("compression", "uncompressed").parquet(f"{root}/large")
    return {
        "csv": spark.read.csv(f"{root}/c s v", header=True, inferSchema=True).agg(F.sum("id")).first()[0],  # type: ignore[index]
        "json": spark.read.json(f"{root}/json").where("name = 'näme 7'").count(),
        "large": spark.read.parquet(f"{root}/large").select("digest").distinct().count(),
    }


def streamed(spark: SparkSession, root: str, local: str) -> Any:
    """A stream from one folder to another, with its checkpoints beside it, stopped and gone on with."""
    for start in (0, 100):
        rows(spark, start, start + 100).write.mode("append").parquet(f"{root}/from")
        source = spark.readStream.schema("id long, part long, name string").parquet(f"{root}/from")
        query = source.writeStream.option("checkpointLocation", f"{root}/checkpoint").trigger(availableNow=True)
        query.start(f"{root}/to", format="parquet").awaitTermination()
    return totals(spark, f"{root}/to")


SCENARIOS: dict[str, Callable[[SparkSession, str, str], Any]] = {
    "file": committed("file"),
    "file-v2": committed("file", mapreduce_fileoutputcommitter_algorithm_version="2"),
    "directory": committed("directory"),
    "partitioned": committed("partitioned"),
    "magic": committed("magic"),
    "dynamic": dynamic,
    "files": files,
    "texts": texts,
    "streamed": streamed,
}

if __name__ == "__main__":
    Path(sys.argv[3]).mkdir(exist_ok=True)
    main(*sys.argv[1:])
