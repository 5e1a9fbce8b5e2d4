"""Whether Spark runs here: a session on one core, and a tiny job."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from lochan.cli.checks.check import FAIL, OK, Check
from lochan.clock import Clock

_SAID_MAX = 300


def check_spark_job(clock: Clock) -> Check:
    """Starts a JVM: ten seconds or so. What it prints is kept back, and told only where it fails."""
    started = clock.boot()
    with _stderr_kept() as said:
        try:
            answer = _job()
        except Exception as error:  # whatever a JVM may come up with; the check reports it
            return Check("spark job", FAIL, _why(error, said), "check Java and pyspark above")
    if answer != 499_500:
        return Check("spark job", FAIL, f"the sum of 0 to 999 came out as {answer}", "reinstall pyspark")
    return Check("spark job", OK, f"ran on local[1] in {clock.boot() - started:.1f} s, the JVM's start included")


def _job() -> int:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("lochan doctor")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.bindAddress": "127.0.0.1",  # a host name that resolves nowhere is no matter for one machine
        "spark.driver.host": "127.0.0.1",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        row = spark.range(1000).selectExpr("sum(id) AS total").first()
        return int(row["total"]) if row is not None else 0
    finally:
        spark.stop()


@contextmanager
def _stderr_kept() -> Iterator[IO[bytes]]:
    """The JVM inherits our stderr, so the descriptor itself has to point elsewhere for a while."""
    sys.stderr.flush()
    before = os.dup(2)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            yield said
        finally:
            os.dup2(before, 2)
            os.close(before)


def _why(error: Exception, said: IO[bytes]) -> str:
    said.seek(0)
    lines = [line.strip() for line in said.read().decode(errors="replace").splitlines() if line.strip()]
    telling = next((line for line in lines if "rror" in line or "xception" in line), lines[-1] if lines else "")
    first = str(error).strip().partition("\n")[0]
    return f"{first}{f' ({telling})' if telling else ''}"[:_SAID_MAX]
