"""Runs a query of the pipe language over Python rows, on DuckDB in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from lochan.query import ast
from lochan.query.compile import Plan, compile
from lochan.query.output.formats import rows
from lochan.query.syntax.parse import parse
from tests.unit.query.toy_source import Row, ToySource

_connection = duckdb.connect()
_connection.execute("SET TimeZone = 'UTC'")


def ask(text: str, *pools: Sequence[Row] | ToySource) -> list[Any]:
    """`from p` reads the first of the pools, `from q` the second."""
    return answer(planned(text, *pools))


def planned(text: str, *pools: Sequence[Row] | ToySource) -> Plan:
    sources = [pool if isinstance(pool, ToySource) else ToySource(pool) for pool in pools]

    def open_source(source: ast.Source) -> ToySource:
        assert isinstance(source.name, str)
        return sources["pqr".index(source.name)]

    return compile(parse(text), open_source, text=text, now=1_750_000_000_000_000)


def answer(plan: Plan) -> list[Any]:
    return [row for batch in batches_of(plan) for row in rows(batch, plan.row)]


def batches_of(plan: Plan) -> list[pa.RecordBatch]:
    batches: list[pa.RecordBatch] = _connection.sql(plan.sql("duckdb")).to_arrow_table().to_batches()
    return batches
