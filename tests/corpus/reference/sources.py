"""Sources as plain rows: pools in the order of their keys, by name, glob or regexp."""

from __future__ import annotations

import re
from typing import Any

from lochan.query import ast
from tests.corpus.data import Pool
from tests.corpus.reference.expressions import evaluate, glob
from tests.corpus.reference.functions import call as call_function
from tests.corpus.reference.operators import Rows
from tests.corpus.reference.values import MISSING, Time, as_json, order


class Unknown(Exception):
    """The reference has no rows for this source."""


class Pools:
    def __init__(self, pools: list[Pool]) -> None:
        self._rows = {pool.name: _sorted(pool) for pool in pools}
        self._keys = {pool.name: _key(pool) for pool in pools}

    def __call__(self, source: ast.Source) -> Rows:
        if source.meta or source.ref or source.path:
            raise Unknown(source)
        return [row for name in self._names(source) for row in self._of(name, source)]

    def rows(self, name: str) -> Rows:
        return self._rows[name]

    def key(self, name: str) -> str:
        return self._keys[name] or ""

    def _names(self, source: ast.Source) -> list[str]:
        match source.name:
            case ast.Glob(pattern):
                return [name for name in sorted(self._rows) if glob(pattern).fullmatch(name)]
            case ast.Regexp(pattern):
                return [name for name in sorted(self._rows) if re.search(pattern, name)]
            case str(name):
                return [name]
        raise Unknown(source)

    def _of(self, name: str, source: ast.Source) -> Rows:
        key = self._keys[name]
        if key is None:
            return self._rows[name]
        keyless = [row for row in self._rows[name] if row.get(key) is None]
        if source.no_key:
            return keyless
        if source.low is None and source.high is None:
            return self._rows[name]
        low, high = sorted((_bound(source.low), _bound(source.high)))
        keyed = [row for row in self._rows[name] if row.get(key) is not None]
        return [row for row in keyed if not _order(row[key]) < low and not high < _order(row[key])]


def _bound(literal: ast.Expr | None) -> tuple[Any, ...]:
    assert literal is not None
    return _order(evaluate(literal, {}))


def _order(value: Any) -> tuple[Any, ...]:
    return order(value, descending=False, nulls_first=False)


def _key(pool: Pool) -> str | None:
    return pool.keys[0].partition(":")[0] if pool.keys else None


def _sorted(pool: Pool) -> Rows:
    key = _key(pool)
    if key is None:
        return sorted((dict(row) for row in pool.rows), key=as_json)
    rows = [dict(row) for row in pool.rows]
    if ":time" in pool.keys[0]:
        for row in rows:
            text = row[key].upper()  # RFC 3339 lets `t` and `z` be small; a cast of the language does not
            time = call_function("time", (ast.Literal("string", text),), row, evaluate)
            if isinstance(time, Time):  # else it says none, and is a string
                row[key] = time
    descending = pool.keys[0].endswith(":desc")
    return sorted(rows, key=lambda row: order(row.get(key, MISSING), descending=descending, nulls_first=False))
