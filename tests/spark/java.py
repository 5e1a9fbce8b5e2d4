"""Options for JVMs that start quickly. Code that runs once is not compiled for speed, and the classes of Spark are
mapped from an archive that is made once for this machine: a start costs a third of the processor time. If the class
path differs (S3A's jars, a folder of configuration), Java ignores the archive.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

_FOLDER = Path(__file__).parents[2] / ".cache" / "spark"
_FAST = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"


def _place() -> Path:
    """Another one for other jars, or another Java."""
    found = find_spec("pyspark")
    assert found is not None and found.origin is not None
    jar = next((Path(found.origin).resolve().parent / "jars").glob("spark-core_*.jar"))
    java = Path(shutil.which("java") or "java").resolve()
    known = f"{jar} {jar.stat().st_mtime_ns} {java}"
    return _FOLDER / f"{sha256(known.encode()).hexdigest()[:16]}.jsa"


ARCHIVE = _place()
OPTIONS = f"{_FAST} -XX:SharedArchiveFile={ARCHIVE} -Xshare:auto {_QUIET}"


def environment() -> dict[str, str]:
    """For a process that starts Spark: the driver's JVM gets these options, and so do its executors."""
    return {"SPARK_SUBMIT_OPTS": f'{OPTIONS} "-Dspark.executor.extraJavaOptions={OPTIONS}"'}


def prepare() -> None:
    """Makes the archive, unless it is there."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with (_FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ARCHIVE.exists():
            _make()


def _make() -> None:
    made = ARCHIVE.with_suffix(".new")
    made.unlink(missing_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    env = kept | {
        "SPARK_SUBMIT_OPTS": f"{_FAST} -XX:ArchiveClassesAtExit={made} {_QUIET}",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with suppress(subprocess.TimeoutExpired):
        subprocess.run([sys.executable, "-c", _USUAL], env=env, capture_output=True, check=False, timeout=280)
    if made.exists():  # if not, all goes on without it
        made.rename(ARCHIVE)


# Some of all that tests do.
_USUAL = """
import tempfile
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
process = spark.sparkContext._gateway.proc
with tempfile.TemporaryDirectory() as folder:
    spark.range(1000).selectExpr("id", "id % 7 AS m").write.parquet(f"{folder}/rows")
    spark.read.parquet(f"{folder}/rows").createOrReplaceTempView("rows")
    spark.sql("SELECT m, count(*) FROM rows GROUP BY m ORDER BY m").toArrow()
    spark.sql("SELECT * FROM rows JOIN rows r USING (id)").repartitionById(2, "m").collect()
    spark.range(10).mapInArrow(lambda batches: batches, "id long").toArrow()
    stream = spark.readStream.schema("id long, m long").parquet(f"{folder}/rows")
    writer = stream.writeStream.foreachBatch(lambda frame, number: None).trigger(availableNow=True)
    writer.option("checkpointLocation", f"{folder}/state").start().awaitTermination()
spark.stop()
spark.sparkContext._gateway.shutdown()
process.stdin.close()
process.wait()  # it writes the archive at its end
"""
