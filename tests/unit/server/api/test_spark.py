"""JVMs that this process has started are found and ended, and nothing else."""

import subprocess
import sys

from lochan.api import server_spark as spark
from lochan.api.server_spark import ServerSpark
from lochan.engines.spark.place import STANDARD
from tests.run import run


def test_only_what_is_sparks_is_ended() -> None:
    sleep = "import time; time.sleep(60)"
    with (
        subprocess.Popen([sys.executable, "-c", sleep, "org.apache.spark.deploy.SparkSubmit"]) as jvm,
        subprocess.Popen([sys.executable, "-c", sleep, "something else"]) as other,
    ):
        try:
            assert list(spark.jvms()) == [jvm.pid]
            spark._end_jvms()
            assert jvm.wait(5) != 0
            assert other.poll() is None
            assert not list(spark.jvms())
        finally:
            jvm.kill()
            other.kill()


def test_where_spark_was_never_needed_nothing_is_imported_for_it() -> None:
    script = (
        "import asyncio, sys\n"
        "from lochan.api.server_spark import ServerSpark\n"
        "from lochan.engines.spark.place import STANDARD\n"
        "spark = ServerSpark(STANDARD, 1 << 30)\n"
        "assert not spark.is_warm()\n"
        "asyncio.run(spark.stop())\n"
        "print(*sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"pyspark", "pandas", "duckdb"} & set(ran.stdout.split())


def test_a_server_that_has_none_stops_at_once() -> None:
    run(ServerSpark(STANDARD, 1 << 30).stop())
