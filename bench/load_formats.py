"""The same rows as NDJSON, CSV and Parquet, and NDJSON of many shapes, each into a pool: against DuckDB's own sorted
COPY of the same file. Processor time is that of all processes: users' Parquet is read by another one.

Budgets: 1.4 times DuckDB for regular rows, 2 times for many shapes.
"""

import asyncio
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb

from bench.cost import Cost
from bench.load_pool import ROWS, load_file
from bench.processor import family_seconds
from bench.table import show

_ROUNDS = int(os.environ.get("LOCHAN_BENCH_ROUNDS", "5"))
_SHAPES = 1_000
_REGULAR, _MANY = 1.4, 2.0

_ROW = """
    SELECT strftime(TIMESTAMP '2026-11-01' + to_milliseconds(n * 3 + h % 900), '%Y-%m-%dT%H:%M:%S.%gZ') AS ts,
        'host-' || h % 300 AS host, 'GET' AS method, '/api/v1/thing/' || h % 200 AS path,
        [200, 200, 404, 500][h % 4 + 1] AS status, h % 100000 AS bytes, (h % 30011) / 10000 AS latency,
        format('{:016x}', h) AS uid
    FROM (SELECT n, (hash(n) >> 2)::BIGINT AS h FROM range(ROWS) t(n))
"""
# Ten fields of which each row lacks some, by the bits of a number below a thousand.
_FIELDS = ", ".join(
    f"CASE WHEN (n % {_SHAPES}) & {1 << bit} > 0 THEN '\"f{bit}\":' || n || ',' END" for bit in range(10)
)
_LINES = f"SELECT concat('{{', {_FIELDS}, '\"ts\":', n, '}}') FROM range(ROWS) t(n)"
_TEXT = "FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01'"


class _Case:
    def __init__(self, name: str, file: Path, read: str, budget: float) -> None:
        self.file, self.read, self.budget = file, read, budget
        family = partial(family_seconds, os.getpid())
        self.bare, self.ours = Cost(name, family), Cost(name, family)

    def row(self) -> list[object]:
        cpu, bare = min(self.ours.cpu), min(self.bare.cpu)
        wall, bare_wall = min(self.ours.wall), min(self.bare.wall)
        kept = "yes" if cpu <= self.budget * bare else "no"
        size = self.file.stat().st_size / 1e6
        return [self.ours.name, size, cpu, bare, cpu / bare, wall, wall / bare_wall, self.budget, kept]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as text:
        folder = Path(text)
        cases = _cases(folder)
        for number in range(_ROUNDS):
            for case in cases:
                case.bare.measure(partial(_copy, case, folder / "bare.parquet"))
                case.ours.measure(_loading(case, folder / f"lake-{case.file.name}-{number}"))
        head = ["", "MB", "CPU s", "DuckDB's", "x", "wall s", "x", "budget", "in budget"]
        show(f"loads of {ROWS:,} rows by format: best of {_ROUNDS}", head, [case.row() for case in cases])


def _cases(folder: Path) -> list[_Case]:
    made = [
        _Case("NDJSON", folder / "rows.ndjson", "read_json_auto", _REGULAR),
        _Case("CSV", folder / "rows.csv", "read_csv_auto", _REGULAR),
        _Case("Parquet", folder / "rows.parquet", "read_parquet", _REGULAR),
        _Case(f"NDJSON of {_SHAPES:,} shapes", folder / "shapes.ndjson", "read_json_auto", _MANY),
    ]
    with duckdb.connect() as connection:
        for case, (rows, how) in zip(
            made, ((_ROW, "FORMAT json"), (_ROW, "FORMAT csv"), (_ROW, "FORMAT parquet"), (_LINES, _TEXT)), strict=True
        ):
            connection.execute(f"COPY ({rows.replace('ROWS', str(ROWS))}) TO '{case.file}' ({how})")
    return made


def _copy(case: _Case, target: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute("SET preserve_insertion_order = false")
        rows = f"SELECT * FROM {case.read}('{case.file}') ORDER BY ts"
        connection.execute(f"COPY ({rows}) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")


def _loading(case: _Case, lake: Path) -> Callable[[], object]:
    key = "ts" if case.budget == _MANY else "ts:time"
    return lambda: asyncio.run(load_file(lake, key, case.file))


if __name__ == "__main__":
    main()
