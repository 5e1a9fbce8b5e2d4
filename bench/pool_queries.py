"""Queries of a pool against DuckDB's own of the same files: plain SQL over read_parquet that gives the same answer.

DuckDB has its connection open all the time; ours opens one for each query, and makes its plan. The times are those from
the text of the query to the last row, as Arrow; the answers are compared once, before the clock runs.
"""

import gc
import os
import resource
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import duckdb

from bench.table import show
from lochan.api.queries import run_query
from lochan.lake import Lake
from lochan.store.local import LocalStore

_ROUNDS = int(os.environ.get("LOCHAN_BENCH_ROUNDS", "15"))
_SHARE, _MORE_MS = 1.05, 10.0  # the budget


class _Case(NamedTuple):
    name: str
    query: str
    sql: str  # FILES stands for the files
    by: str = ""  # the field that is compared, where times would look otherwise; empty: all


class _Times(NamedTuple):
    wall: list[float]
    cpu: list[float]


async def compare(folder: Path) -> None:
    lake = await Lake.open(LocalStore(str(folder)))
    with await run_query(lake, "from logs:objects") as result:
        objects = list(result.rows())
    files = "read_parquet([" + ", ".join(f"'{folder / each['address']}'" for each in objects) + "])"
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        cases = _cases(connection, files)
        rows = [await _measured(lake, connection, case) for case in cases]
    await lake.close()
    count = sum(each["count"] for each in objects)
    title = (
        f"queries of {count:,} rows in {len(objects)} objects: best of {_ROUNDS}; budget {_SHARE} x + {_MORE_MS:.0f} ms"
    )
    head = ["", "ms", "bare ms", "x bare", f"ms beyond {_SHARE} x", "CPU ms", "bare CPU ms", "in budget"]
    show(title, head, rows)


def _cases(connection: duckdb.DuckDBPyConnection, files: str) -> list[_Case]:
    def one(sql: str) -> Any:
        [row] = connection.sql(sql.replace("FILES", files)).fetchall()
        return row[0]

    shown = "strftime(ts, '%Y-%m-%dT%H:%M:%S.%gZ')"
    some = "(SELECT * FROM FILES WHERE uid IS NOT NULL ORDER BY ts, uid)"
    uid = one(f"SELECT uid FROM {some} LIMIT 1 OFFSET (SELECT count(*) // 2 FROM FILES)")
    key = one(f"SELECT {shown} FROM {some} WHERE uid = '{uid}'")
    low, high = (
        one(f"SELECT {shown} FROM (SELECT quantile_disc(ts, {part}) AS ts FROM FILES)") for part in (0.5, 0.51)
    )
    texts = " OR ".join(f"{name} ILIKE '%took 77%'" for name in ("host", "level", "message", "method", "path", "uid"))
    texts += " OR ctx.user ILIKE '%took 77%' OR len(list_filter(tags, lambda tag: tag ILIKE '%took 77%')) > 0"
    made = [
        _Case("count", "from logs | count()", "SELECT count(*) FROM FILES"),
        _Case("group-by", "from logs | count() by host", "SELECT host, count(*) FROM FILES GROUP BY host"),
        _Case(
            "filter and sum",
            "from logs | status >= 500 | sum(bytes)",
            "SELECT sum(bytes) FROM FILES WHERE status >= 500",
        ),
        _Case(
            "a hundredth of the key",
            f"from logs range {low} to {high} | count(), sum(bytes)",
            f"SELECT count(*), sum(bytes) FROM FILES WHERE ts BETWEEN '{low}'::TIMESTAMPTZ AND '{high}'::TIMESTAMPTZ",
        ),
        _Case(
            "the same, through WITH",
            f"with a as (select ts, bytes from logs) "
            f"select count(*), sum(bytes) from a where ts between '{low}' and '{high}'",
            f"WITH a AS (SELECT ts, bytes FROM FILES) SELECT count(*), sum(bytes) FROM a "
            f"WHERE ts BETWEEN '{low}'::TIMESTAMPTZ AND '{high}'::TIMESTAMPTZ",
        ),
        _Case(
            "the same, through two WITHs and a UNION",
            f"with a as (select * from logs), b as (select ts, bytes from a union all select ts, bytes from a) "
            f"select count(*), sum(bytes) from b where ts between '{low}' and '{high}'",
            f"WITH a AS (SELECT * FROM FILES), b AS (SELECT ts, bytes FROM a UNION ALL SELECT ts, bytes FROM a) "
            f"SELECT count(*), sum(bytes) FROM b WHERE ts BETWEEN '{low}'::TIMESTAMPTZ AND '{high}'::TIMESTAMPTZ",
        ),
        _Case(
            "groups of a WITH, chosen by their key",
            f"with a as (select ts, count(*) as n, sum(bytes) as total from logs group by ts) "
            f"select count(*), sum(total) from a where ts between '{low}' and '{high}'",
            f"WITH a AS (SELECT ts, count(*) AS n, sum(bytes) AS total FROM FILES GROUP BY ts) "
            f"SELECT count(*), sum(total) FROM a WHERE ts BETWEEN '{low}'::TIMESTAMPTZ AND '{high}'::TIMESTAMPTZ",
        ),
        _Case("search of a text", 'from logs | "took 77" | count()', f"SELECT count(*) FROM FILES WHERE {texts}"),
        _Case(
            "search in one field",
            "from logs | grep(/took 77/, message) | count()",
            "SELECT count(*) FROM FILES WHERE regexp_matches(message, 'took 77')",
        ),
        _Case(
            "look-up by a field",
            f'from logs | uid == "{uid}"',
            f"SELECT * EXCLUDE (_shape) FROM FILES WHERE uid = '{uid}'",
            "uid",
        ),
        _Case(
            "look-up by the key",
            f"from logs | ts == {key}",
            f"SELECT * EXCLUDE (_shape) FROM FILES WHERE ts = '{key}'::TIMESTAMPTZ",
            "host",
        ),
    ]
    return [case._replace(sql=case.sql.replace("FILES", files)) for case in made]


async def _measured(lake: Lake, connection: duckdb.DuckDBPyConnection, case: _Case) -> list[object]:
    await _check(lake, connection, case)

    async def ours() -> None:
        with await run_query(lake, case.query) as result:
            result.to_arrow()

    async def bare() -> None:
        connection.sql(case.sql).to_arrow_table()  # as our own session does: rows of `execute` are copied once more

    times = {work: _Times([], []) for work in (bare, ours)}
    for _ in range(_ROUNDS):
        for work, taken in times.items():
            await _time(work, taken)
    (bare_ms, bare_cpu), (ms, cpu) = ((min(each.wall) * 1e3, min(each.cpu) * 1e3) for each in times.values())
    beyond = ms - _SHARE * bare_ms
    return [case.name, ms, bare_ms, ms / bare_ms, beyond, cpu, bare_cpu, "yes" if beyond <= _MORE_MS else "no"]


async def _time(work: Callable[[], Awaitable[None]], taken: _Times) -> None:
    gc.collect()  # of what came before, on nobody's account
    before, begun = _cpu(), perf_counter()
    await work()
    taken.wall.append(perf_counter() - begun)
    taken.cpu.append(_cpu() - before)


async def _check(lake: Lake, connection: duckdb.DuckDBPyConnection, case: _Case) -> None:
    """Both give the same answer, and it is one."""
    with await run_query(lake, case.query) as result:
        ours = list(result.rows())
    bare = connection.sql(case.sql).to_arrow_table().to_pylist()
    shown = [_values(rows, case.by) for rows in (ours, bare)]
    assert shown[0] and shown[0] == shown[1], (case, ours[:3], bare[:3])


def _values(rows: list[dict[str, Any]], by: str) -> list[tuple[Any, ...]]:
    return sorted((row[by],) if by else tuple(row.values()) for row in rows)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
