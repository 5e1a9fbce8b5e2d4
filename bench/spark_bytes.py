"""Who writes the bytes of a load, a write and a compaction: on a cluster of two workers, with a driver of 1 GiB to
which no more than 32 MB may come at once. What each process counts is compared with what lies on the store.

Budget: at least 99 % by executors, of each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import load_pool
from bench.table import show
from tests.spark.cluster import Cluster, cluster

ROWS = int(os.environ.get("LOCHAN_BENCH_ROWS", "1000000"))
_LOCHAN = [sys.executable, "-c", "from lochan.cli.main import main; main()"]
_BUDGET = 99.0
_LIMITS = {"spark.driver.memory": "1g", "spark.driver.maxResultSize": "32m", "spark.sql.shuffle.partitions": "4"}
# A driver with these limits, in which a command of ours runs; it would choose others for a session of its own.
_DRIVER = """
import sys
from pyspark.sql import SparkSession
import lochan.spark
spark = SparkSession.builder.master(sys.argv[1]).getOrCreate()
assert spark.sparkContext.getConf().get("spark.driver.maxResultSize") == "32m"
assert spark._jvm.Runtime.getRuntime().maxMemory() <= 1 << 30
"""
_COMMAND = """
from lochan.cli.main import main
sys.argv[1:] = sys.argv[2:]
main()
"""
# What was loaded comes back in another order.
_WRITE = """
lochan.spark.register(spark)
rows = lochan.spark.read(spark, "logs").repartition(8)
rows.write.format("lochan").mode("append").save("copies")
spark.stop()
"""


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder, cluster() as there:
        work = _Work(Path(folder), there)
        work.lochan("init")
        work.lochan("create", "logs", "--key", "ts:time")
        work.lochan("create", "copies", "--key", "ts:time", "--size", "8MiB")
        file = Path(folder) / "rows.ndjson"
        load_pool.write_lines(file, ROWS)
        spark = ("--engine", "spark", "--master", there.master)
        rows = [
            work.measured("load", _COMMAND, "load", "logs", str(file), *spark),
            work.measured("write", _WRITE),
            work.measured("compact", _COMMAND, "compact", "copies", *spark),
        ]
    limits = "a driver of 1 GiB, spark.driver.maxResultSize=32m"
    title = f"{ROWS:,} rows on a cluster of two workers, {limits}: bytes put (budget: {_BUDGET:.0f} % by executors)"
    head = ["", "rows", "by executors", "by the driver", "%", "data on the store", "all else there", "budget"]
    show(title, head, rows)


class _Work:
    def __init__(self, folder: Path, there: Cluster) -> None:
        self._lake = folder / "lake"
        self._master = there.master
        kept = {name: value for name, value in there.configured(_LIMITS).items() if not name.startswith("LOCHAN_")}
        self._env = kept | {"LOCHAN_LAKE": str(self._lake), "HOME": str(folder)}

    def measured(self, name: str, program: str, *words: str) -> list[object]:
        before = self._sizes()
        self._run([sys.executable, "-c", f"{_DRIVER}{program}", self._master, *words])
        new = {path: size for path, size in self._sizes().items() if path not in before}
        data = sum(size for path, size in new.items() if {"data", "runs"} & {*path.parts})
        (job,) = json.loads(self.lochan("jobs", "list", "-n", "1", "-f", "json"))
        executors, driver = job["executor_bytes"], job["driver_bytes"]
        assert job["state"] == "done" and executors == data, (job, data)
        percent = 100 * executors / (executors + driver)
        met = "met" if percent >= _BUDGET else "missed"
        return [name, job["rows"], executors, driver, percent, data, sum(new.values()) - data, met]

    def lochan(self, *words: str) -> str:
        return self._run([*_LOCHAN, *words])

    def _run(self, command: list[str]) -> str:
        ran = subprocess.run(command, env=self._env, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr[-4_000:]
        return ran.stdout

    def _sizes(self) -> dict[Path, int]:
        return {path: path.stat().st_size for path in self._lake.rglob("*") if path.is_file()}


if __name__ == "__main__":
    main()
