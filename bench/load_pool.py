"""Two million rows of logs, one in ten of another shape, into a pool: against DuckDB's own sorted COPY of the same
file, which keeps neither shapes nor the order of fields, and takes "7" for 7.

Processor time and wall time of the whole process, each round in both ways; the ratio is between the best of each. On a
machine that does other work too only the processor time says much.
"""

import asyncio
import os
import resource
import tempfile
from pathlib import Path

import duckdb

from bench.cost import Cost
from bench.places import ACTOR
from bench.table import show
from lochan.engines.duckdb.load.load import LoadCommit, load
from lochan.ingest.streams import file_input
from lochan.lake import Lake
from lochan.pools.settings import parse
from lochan.store.local import LocalStore

ROWS = int(os.environ.get("LOCHAN_BENCH_ROWS", "2000000"))
_ROUNDS = int(os.environ.get("LOCHAN_BENCH_ROUNDS", "5"))

_LINES = """
    SELECT CASE WHEN n % 10 = 3 THEN
        format('{{"ts":"{}","host":"host-{}","level":"{}","message":"job {} took {} ms","tags":["a","b"],' ||
               '"ctx":{{"user":"u{}","try":{}}}}}', ts, h % 300, ['info', 'warn', 'error'][h % 3 + 1], n, h % 10000,
               h % 1000, h % 5)
    ELSE
        format('{{"ts":"{}","host":"host-{}","method":"GET","path":"/api/v1/thing/{}","status":{},"bytes":{},' ||
               '"latency":{},"uid":"{:016x}"}}', ts, h % 300, h % 200, [200, 200, 404, 500][h % 4 + 1], h % 100000,
               (h % 30011) / 10000, h)
    END
    FROM (SELECT n, h, strftime(TIMESTAMP '2026-11-01' + to_milliseconds(n * 3 + h % 900),
                                '%Y-%m-%dT%H:%M:%S.%gZ') AS ts
          FROM (SELECT n, (hash(n) >> 2)::BIGINT AS h FROM range(ROWS) t(n)))
"""


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
        compare(Path(folder))


def compare(folder: Path) -> Path:
    """Returns a lake whose pool `logs` holds the rows by their times."""
    file = folder / "logs.ndjson"
    write_lines(file, ROWS)
    bare, ours, plain = (
        Cost("DuckDB: sorted COPY", _cpu),
        Cost("load, ts is a time", _cpu),
        Cost("load, ts is a text", _cpu),
    )
    for number in range(_ROUNDS):
        bare.measure(lambda: _copy(file, folder / "bare.parquet"))
        for cost, key in ((ours, "ts:time"), (plain, "ts")):
            lake = folder / f"lake-{key[3:]}{number}"
            cost.measure(lambda lake=lake, key=key: asyncio.run(load_file(lake, key, file)))  # type: ignore[misc]
    base_cpu, base_wall = min(bare.cpu), min(bare.wall)
    rows = [
        [each.name, min(each.cpu), min(each.cpu) / base_cpu, min(each.wall), min(each.wall) / base_wall]
        for each in (bare, ours, plain)
    ]
    size = file.stat().st_size
    title = f"{ROWS:,} rows of NDJSON, {size / 1e6:.0f} MB, one in ten of another shape: best of {_ROUNDS}"
    show(title, ["", "CPU s", "x bare", "wall s", "x bare"], rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  (the process at its largest, all of these together: {peak:,.0f} MiB)\n")
    return folder / "lake-time0"


def write_lines(file: Path, rows: int) -> None:
    with duckdb.connect() as connection:
        sql = _LINES.replace("ROWS", str(rows))
        how = "FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01'"
        connection.execute(f"COPY ({sql}) TO '{file}' ({how})")


def _copy(file: Path, target: Path) -> None:
    """As a person would write it."""
    with duckdb.connect() as connection:
        connection.execute("SET preserve_insertion_order = false")
        rows = f"SELECT * FROM read_json_auto('{file}') ORDER BY ts"
        connection.execute(f"COPY ({rows}) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")


async def load_file(folder: Path, key: str, file: Path) -> LoadCommit:
    """Into the pool `logs` of a new lake."""
    lake = await Lake.create(LocalStore(str(folder), create=True))
    await lake.create_pool("logs", parse([key]), actor=ACTOR)
    repository = await lake.open_repository("logs")
    loaded = await load(repository, "main", [file_input(file)], actor=ACTOR)
    assert loaded.rows == ROWS
    await repository.close()
    await lake.close()
    return loaded


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
