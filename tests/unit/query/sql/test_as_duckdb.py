"""If every field has one kind, SQL means what it means to DuckDB: the same text gives the same rows."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, assume, given, settings

from tests.unit.query.sql.random_sql import SELECTS
from tests.unit.query.sql.run_sql import ask, duckdb_with
from tests.unit.query.toy_source import ToySource

LOGS: list[dict[str, Any]] = [
    {"id": 1, "host": "web-1", "status": 200, "took": 1.5, "ok": True, "ts": "2026-11-01T10:00:00Z"},
    {"id": 2, "host": "web-2", "status": 500, "took": 2.0, "ok": False, "ts": "2026-11-01T11:30:00Z"},
    {"id": 3, "host": "web-1", "status": None, "took": 0.25, "ok": True, "ts": "2026-11-02T00:00:00Z"},
    {"id": 4, "host": None, "status": 404, "took": None, "ok": None, "ts": None},
    {"id": 5, "host": "Web_3", "status": 200, "took": -3.5, "ok": False, "ts": "2025-01-31T23:59:59Z"},
    {"id": 6, "host": "", "status": 302, "took": 10.0, "ok": True, "ts": "2026-11-01T10:15:00Z"},
]
HOSTS: list[dict[str, Any]] = [
    {"host": "web-1", "rack": 1},
    {"host": "web-2", "rack": 2},
    {"host": "web-2", "rack": 3},
    {"host": "other", "rack": None},
]
COLUMNS = "id BIGINT, host VARCHAR, status BIGINT, took DOUBLE, ok BOOLEAN, ts TIMESTAMPTZ"


def _cell(value: Any) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def _values(rows: list[dict[str, Any]]) -> str:
    return ", ".join("(" + ", ".join(map(_cell, row.values())) + ")" for row in rows)


DUCKDB = duckdb_with({"logs": (COLUMNS, _values(LOGS)), "hosts": ("host VARCHAR, rack BIGINT", _values(HOSTS))})

QUERIES = """
select * from logs
select id, host from logs where status >= 300
select id from logs where not status >= 300
select id from logs where status <> 200
select id from logs where status = 200 or took > 1
select id from logs where not (status = 200 or took > 1)
select id from logs where ok
select id from logs where not ok
select id from logs where ok is true
select id from logs where ok is not true
select id from logs where host is null or host = ''
select id from logs where host is not null and status is null
select id from logs where status in (200, 404)
select id from logs where status not in (200, 404)
select id from logs where took between 0 and 2
select id from logs where took not between 0 and 2
select id from logs where host like 'web-%'
select id from logs where host not like 'web-_'
select id from logs where host ilike 'WEB%'
select id from logs where ts >= '2026-11-01' and ts < '2026-11-02'
select id from logs where ts = timestamp '2026-11-01 10:00:00'
select id from logs where ts > date '2026-11-01'
select id from logs where status is distinct from 200
select id from logs where status is not distinct from null
select id + 1, id - 1, id * 2, id / 2, id // 2, id % 2, -id from logs
select took + id, took * 2, took / 0.5 from logs
select abs(took), ceil(took), floor(took), round(took), round(took, 1), sqrt(abs(took)), pow(id, 2), ln(id) from logs
select lower(host), upper(host), length(host), trim(host), host || '!' from logs where host is null or host <> 'ß'
select substring(host, 1, 3), left(host, 2), right(host, 2), replace(host, 'web', 'x') from logs
select regexp_matches(host, '^web-[0-9]$'), regexp_replace(host, '[a-z]', 'x', 'g') from logs
select contains(host, 'b-'), starts_with(host, 'web'), ends_with(host, '1') from logs
select concat(host, '-', id) from logs
select case when status = 200 then 'ok' when status > 400 then 'bad' else 'hm' end from logs
select case status when 200 then 1 when 500 then 2 end from logs
select if(ok, 1, 0), coalesce(host, 'none'), nullif(status, 200), coalesce(took, 0.0) from logs
select greatest(id, status), least(id, status) from logs
select cast(id as varchar), cast(id as double), status::varchar, try_cast(host as bigint), '12'::bigint from logs
select date_trunc('hour', ts), date_trunc('day', ts), date_trunc('month', ts), date_trunc('year', ts) from logs
select extract(year from ts), month(ts), day(ts), hour(ts), minute(ts), second(ts), dayofyear(ts) from logs
select epoch(ts), epoch_us(ts), strftime(ts, '%Y-%m-%d %H:%M') from logs
select ts + interval 1 day, ts - interval '2 hours' from logs
select time_bucket(interval '1 hour', ts) from logs
select string_split(host, '-') from logs
select levenshtein(host, 'web') from logs
select count(*), count(status), count(distinct status), sum(status), avg(took), min(took), max(host) from logs
select count(*), sum(status), max(host) from logs where id > 100
select host, count(*), sum(took) from logs group by host
select host, count(*) as n from logs group by 1 having count(*) > 1
select status > 300 as big, count(*) from logs group by big
select date_trunc('day', ts) as day, count(*) from logs group by all
select count(*) filter (where ok), sum(id) filter (where status = 200) from logs
select count(*) filter (where (0 in (select rack from hosts))) from logs
select count_if(ok), bool_and(ok), bool_or(ok), median(took), quantile_cont(took, 0.25), stddev(took) from logs
select percentile_cont(0.5) within group (order by took) from logs
select string_agg(host, ',' order by id), array_agg(id order by took) from logs where host is not null
select arg_max(host, id), arg_min(host, id), max_by(id, took) from logs where host is not null
select sum(distinct status), avg(distinct status) from logs
select count(distinct null) from logs
select 1 from logs having max(id) > 3
select host from logs group by host order by count(*) desc, host nulls first limit 2
select id from logs order by took
select id from logs order by took desc
select id from logs order by took nulls first
select id, took as t from logs order by t desc nulls first, 1
select id from logs order by status, id desc limit 3 offset 1
select distinct status from logs
select distinct host, ok from logs order by host, ok desc
select distinct status from logs qualify row_number() over (partition by status order by id) = 1 order by 1
select [1, 2] as list, {'a': id, 'b': host} as record from logs
select l.id, h.rack from logs l join hosts h on l.host = h.host
select l.id, h.rack from logs l left join hosts h on l.host = h.host and h.rack > 1
select l.id, h.rack from logs l right join hosts h on l.host = h.host
select l.id, h.rack from logs l full join hosts h on l.host = h.host
select id, rack from logs join hosts using (host)
select host, id, rack from logs full join hosts using (host)
select * from hosts cross join (select 1 as one) x
select a.id, b.id from logs a, logs b where a.status = b.status and a.id < b.id
select id from logs semi join hosts using (host)
select id from logs l anti join hosts h on l.host = h.host
select l.id, n from logs l left join (select host, count(*) n from hosts group by host) x on x.host = l.host
select l.id, x.seven from logs l left join (select host, 7 as seven from hosts) x on x.host = l.host
with a as (select host, count(*) n from logs group by host), b as (select * from a where n > 1) select * from b, a
with logs as (select id from logs where id > 2) select * from logs
select id, 7 as t from logs order by t desc, 1
with a as (select id from logs) select count(*) from a x join a y on x.id < y.id
select id from logs where host in (select host from hosts)
select id from logs where host not in (select host from hosts)
select id from logs where host not in (select host from hosts where host is not null)
select id from logs l where exists (select 1 from hosts h where h.host = l.host and rack = 1)
select id from logs l where not exists (select * from hosts where host = l.host)
select id, (select count(*) from hosts h where h.host = l.host) from logs l
select id from logs where took > (select avg(took) from logs)
select host from logs union select host from hosts
select host from logs union all select host from hosts
select host from logs intersect select host from hosts
select host from logs except select host from hosts
(select id from logs order by id limit 2) union all (select rack from hosts) order by 1 limit 3
select id, row_number() over (order by id), rank() over (order by status), dense_rank() over (order by status) from logs
select id, sum(id) over (partition by status order by id), count(*) over () from logs
select id, sum(id) over (order by id rows between 1 preceding and 1 following), avg(took) over (order by id) from logs
select id, lag(host) over (order by id), lead(id, 2) over (order by id) from logs
select id, first_value(host) over (order by id desc), last_value(id) over (order by id) from logs
select id, ntile(2) over (order by id), percent_rank() over (order by id), cume_dist() over (order by id) from logs
select id, host from logs qualify row_number() over (partition by host order by id desc) = 1
select host, count(*) n, sum(count(*)) over () from logs group by host
select host, rank() over (order by count(*) desc) from logs group by host
select n from (select host, count(*) n from logs group by host) where n > 1
select x.a from (select id as a, host as b from logs) as x where x.b = 'web-1'
select c from (select id, host from logs) as x(c, d) where d = 'web-2'
select * exclude (ts, ok) from logs
select l.* from logs l join hosts h on l.host = h.host
select 1, 'x', true, null, 1.5, 9223372036854775807, -9223372036854775808
select count(*) from logs where 1 = 1 and true
select 'it''s', "host" from logs where "status" = 200
""".strip().splitlines()


@pytest.mark.thorough
@given(text=SELECTS)
@settings(max_examples=80, suppress_health_check=list(HealthCheck), deadline=None)
def test_the_same_rows_for_anything(text: str) -> None:
    try:
        theirs = _duckdb(text)
    except duckdb.Error:
        assume(False)  # such as an overflow, which is an error there and NULL here
    ours = [tuple(map(plain, row.values())) for row in ask(text, logs=logs(), hosts=HOSTS)]
    assert sorted(ours, key=repr) == sorted(theirs, key=repr), text


@pytest.mark.thorough
@pytest.mark.parametrize("text", QUERIES)
def test_the_same_rows(text: str) -> None:
    ours = [tuple(map(plain, row.values())) for row in ask(text, logs=logs(), hosts=HOSTS)]
    theirs = _duckdb(text)
    if not text.partition(" from ")[2].rpartition(")")[2].count("order by"):
        ours, theirs = sorted(ours, key=repr), sorted(theirs, key=repr)
    assert ours == theirs


def _duckdb(text: str) -> list[tuple[Any, ...]]:
    columns = [each.to_pylist() for each in DUCKDB.sql(text).to_arrow_table().columns]
    return [tuple(map(plain, row)) for row in zip(*columns, strict=True)]


def logs() -> ToySource:
    return ToySource(LOGS, times_at=[("ts",)])


def plain(value: Any) -> Any:
    if isinstance(value, str) and len(value) > 9 and value[4:5] == "-" and value[-1:] == "Z":
        return datetime.fromisoformat(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, float) or type(value).__name__ == "Decimal":
        return round(float(value), 9) if math.isfinite(value) else str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value
