"""Runs SQL over Python rows on DuckDB in memory, and the same text on DuckDB itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from lochan.query.compile import Plan
from lochan.query.sql.query import read
from tests.unit.query.run_query import answer
from tests.unit.query.toy_source import Row, ToySource

NOW = 1_750_000_000_000_000
Pools = Mapping[str, Sequence[Row] | ToySource]


def ask(text: str, **pools: Sequence[Row] | ToySource) -> list[Any]:
    return answer(planned(text, **pools))


def planned(text: str, **pools: Sequence[Row] | ToySource) -> Plan:
    sources = {name: pool if isinstance(pool, ToySource) else ToySource(pool) for name, pool in pools.items()}
    return read(text).plan(lambda source: sources[str(source.name)], NOW)


def duckdb_with(tables: Mapping[str, Sequence[str]]) -> duckdb.DuckDBPyConnection:
    """Each of a definition of its columns, and its rows as VALUES."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    # Its own answer to a pattern over a CASE of constants is wrong otherwise (test_case_of_constants).
    connection.execute("SET disabled_optimizers = 'statistics_propagation'")
    for name, (columns, values) in tables.items():
        connection.execute(f"CREATE TABLE {name} ({columns})")
        connection.execute(f"INSERT INTO {name} VALUES {values}")
    return connection
