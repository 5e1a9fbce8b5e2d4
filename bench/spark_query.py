"""Queries of a pool on Spark against Spark's own of the same files: plain SQL over spark.read.parquet, in the same JVM.

Spark has its files listed and their schema read all the time; ours makes its plan for each query, and keeps a record of
it. The times are those from the text of the query to the last row, as Arrow; the answers are compared once, before the
clock runs. Processor time is that of the driver and its JVM: on a machine that does other work too only that says much.
"""

from __future__ import annotations

import asyncio
import gc
import os
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from bench import load_pool
from bench.places import ACTOR
from bench.table import show
from lochan.api.pool import load_rows
from lochan.api.queries import run_query
from lochan.engines.duckdb.limits import Limits
from lochan.engines.run_query import RunOptions
from lochan.engines.spark import session
from lochan.engines.spark.place import SparkPlace
from lochan.lake import Lake
from lochan.pools.settings import parse
from lochan.store.local import LocalStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROUNDS = int(os.environ.get("LOCHAN_BENCH_ROUNDS", "7"))
_SHARE, _MORE_S = 1.1, 0.2  # the budget
_OBJECT_BYTES = 8 << 20
_TICKS = os.sysconf("SC_CLK_TCK")
_HOW = RunOptions(engine="spark", limits=Limits(2 << 30), spark=SparkPlace("local[2]"), actor=ACTOR)

Work = Callable[[], Awaitable[object]]


class _Case(NamedTuple):
    name: str
    query: str
    sql: str


_CASES = (
    _Case("count", "from logs | count()", "SELECT count(*) FROM files"),
    _Case("group-by", "from logs | count() by host", "SELECT host, count(*) FROM files GROUP BY host"),
    _Case(
        "filter and sum", "from logs | status >= 500 | sum(bytes)", "SELECT sum(bytes) FROM files WHERE status >= 500"
    ),
    _Case(
        "many groups",
        "from logs | n:=count(), bytes:=sum(bytes) by uid | count()",
        "SELECT count(*) FROM (SELECT uid, count(*), sum(bytes) FROM files GROUP BY uid)",
    ),
    _Case(
        "a twentieth of the rows, in order",
        "from logs | status >= 500 and bytes < 20000 | cut ts, host, bytes, uid",
        "SELECT ts, host, bytes, uid FROM files WHERE status >= 500 AND bytes < 20000 ORDER BY ts",
    ),
)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
        asyncio.run(compare(Path(folder)))


async def compare(folder: Path) -> None:
    lake, count, paths = await _filled(folder)
    ours = session.session_at(_HOW.spark, _HOW.limits)
    plain = ours.newSession()
    plain.conf.set("spark.sql.session.timeZone", "UTC")
    plain.conf.set("spark.sql.shuffle.partitions", "2")  # as many as there are cores; 200 would be a weak opponent
    plain.read.parquet(*paths).createTempView("files")
    rows = [await _measured(lake, plain, case) for case in _CASES]
    await lake.close()
    session.stop()
    title = f"queries of {count:,} rows in {len(paths)} objects on Spark, local[2]: best of {_ROUNDS}"
    head = ["", "s", "Spark s", "x Spark", f"s beyond {_SHARE} x", "CPU s", "Spark CPU s", "in budget"]
    show(f"{title}; budget {_SHARE} x + {_MORE_S} s", head, rows)


async def _filled(folder: Path) -> tuple[Lake, int, list[str]]:
    file = folder / "logs.ndjson"
    load_pool.write_lines(file, load_pool.ROWS)
    lake = await Lake.create(LocalStore(str(folder / "lake"), create=True))
    await lake.create_pool("logs", parse(["ts:time"], size_bytes=_OBJECT_BYTES), actor=ACTOR)
    await load_rows(lake, "logs", str(file), actor=ACTOR)
    file.unlink()
    with await run_query(lake, "from logs:objects") as result:
        objects = list(result.rows())
    return lake, sum(each["count"] for each in objects), [str(folder / "lake" / each["address"]) for each in objects]


async def _measured(lake: Lake, plain: SparkSession, case: _Case) -> list[object]:
    async def ours() -> Any:
        with await run_query(lake, case.query, _HOW) as result:
            return result.to_arrow()

    async def bare() -> Any:
        return plain.sql(case.sql).toArrow()

    assert _told(await ours()) == _told(await bare()), case.name
    walls: dict[Work, list[float]] = {bare: [], ours: []}
    cpus: dict[Work, list[float]] = {bare: [], ours: []}
    for _ in range(_ROUNDS):
        for work in walls:
            gc.collect()
            before, begun = _cpu(), perf_counter()
            await work()
            walls[work].append(perf_counter() - begun)
            cpus[work].append(_cpu() - before)
    (base, mine), (base_cpu, mine_cpu) = (map(min, walls.values()), map(min, cpus.values()))
    beyond = mine - _SHARE * base
    return [case.name, mine, base, mine / base, beyond, mine_cpu, base_cpu, "yes" if beyond <= _MORE_S else "no"]


def _told(table: Any) -> tuple[int, list[str]]:
    """Rows, and the first of them by value: times look otherwise in the two."""
    rows = [str([value for value in row.values() if not hasattr(value, "year")]) for row in table.to_pylist()]
    return len(rows), sorted(rows)[:100]


def _cpu() -> float:
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    fields = Path(f"/proc/{gateway.proc.pid}/stat").read_text().rpartition(") ")[2].split()
    times = os.times()
    return (int(fields[11]) + int(fields[12])) / _TICKS + times.user + times.system


if __name__ == "__main__":
    main()
