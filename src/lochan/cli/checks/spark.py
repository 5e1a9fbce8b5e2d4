"""Whether Spark runs here: a session on one core, and a tiny job."""

from lochan.cli.checks.check import FAIL, OK, Check
from lochan.clock import Clock
from lochan.engines.spark.jvm_stderr import stderr_kept, why


def check_spark_job(clock: Clock) -> Check:
    """Starts a JVM: ten seconds or so. What it prints is kept back, and told only where it fails."""
    started = clock.boot()
    with stderr_kept() as said:
        try:
            answer = _job()
        except Exception as error:  # whatever a JVM may come up with; the check reports it
            return Check("spark job", FAIL, why(error, said), "check Java and pyspark above")
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
