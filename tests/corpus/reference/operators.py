"""Operators over lists of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from lochan.query import ast
from tests.corpus.reference.aggregates import aggregated
from tests.corpus.reference.expressions import evaluate
from tests.corpus.reference.functions import _bucket
from tests.corpus.reference.values import ERROR, MISSING, Duration, equal, identity, order

Rows = list[Any]
Open = Callable[[ast.Source], Rows]


def play(pipe: ast.Pipe, open_source: Open, rows: Rows | None = None) -> Rows:
    """The rows that the query gives, in an order of its own where the language leaves it open."""
    current = rows or []
    for operator in pipe.operators:
        current = _step(operator, current, open_source)
    return current


def _step(operator: ast.Operator, rows: Rows, open_source: Open) -> Rows:
    match operator:
        case ast.From(sources):
            return [row for source in sources for row in open_source(source)]
        case ast.Where(test):
            return [row for row in rows if evaluate(test, row) is True]
        case ast.Cut(fields):
            return [_cut(fields, row) for row in rows]
        case ast.Put(fields):
            return [_put(fields, row) for row in rows]
        case ast.Drop(paths):
            return [_dropped(row, paths) for row in rows]
        case ast.Rename(fields):
            return [_renamed(row, fields) for row in rows]
        case ast.Sort(keys):
            return sort(rows, keys)
        case ast.Head(count):
            return rows[:count]
        case ast.Tail(count):
            return rows[-count:] if count else []
        case ast.Top(count, keys):
            return sort(rows, tuple(key._replace(descending=True) for key in keys))[:count]
        case ast.Uniq(counted):
            return _uniq(rows, counted)
        case ast.Sample(count):
            return _sample(rows, count)
        case ast.Aggregate():
            return _aggregate(operator, rows)
        case ast.Yield(values):
            return [made for row in rows for value in values if (made := evaluate(value, row)) is not MISSING]
        case ast.Over(values):
            return [each for row in rows for value in values for each in _elements(evaluate(value, row))]
        case ast.Join():
            return list(_joined(operator, rows, play(operator.other, open_source)))
        case ast.Fuse():
            return _fused(rows)
        case ast.Union(other):
            return rows + play(other, open_source)
        case ast.Fork(arms):
            return [row for arm in arms for row in play(arm, open_source, list(rows))]
        case ast.Switch(of, cases):
            return _switched(of, cases, rows, open_source)
    raise AssertionError(operator)


def sort(rows: Rows, keys: Iterable[ast.SortKey]) -> Rows:
    def key(row: Any) -> list[Any]:
        return [
            order(evaluate(each.value, row), descending=each.descending, nulls_first=each.nulls_first) for each in keys
        ]

    keys = tuple(keys)
    return sorted(rows, key=key)


def _cut(fields: tuple[ast.Assigned, ...], row: Any) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for each in fields:
        found = evaluate(each.value, row)
        if found is not MISSING:
            _set(made, ast.assigned_path(each), found)
    return made


def _put(fields: tuple[ast.Assigned, ...], row: Any) -> Any:
    if not isinstance(row, dict):
        return row
    made = _copy(row)
    for each in fields:
        _set(made, ast.assigned_path(each), _copy(evaluate(each.value, row)))
    return made


def _copy(value: Any) -> Any:
    return {name: _copy(each) for name, each in value.items()} if isinstance(value, dict) else value


def _set(record: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        inner = record.get(name)
        if not isinstance(inner, dict):
            inner = record[name] = {}
        record = inner
    if value is MISSING:
        record.pop(path[-1], None)
    else:
        record[path[-1]] = value


def _dropped(row: Any, paths: tuple[tuple[str, ...], ...]) -> Any:
    made = _copy(row)
    for path in paths:
        inner = made
        for name in path[:-1]:
            inner = inner.get(name) if isinstance(inner, dict) else None
        if isinstance(inner, dict):
            inner.pop(path[-1], None)
    return made


def _renamed(row: Any, fields: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]) -> Any:
    made = _copy(row)
    for new, old in fields:
        inner = made
        for name in old[:-1]:
            inner = inner.get(name) if isinstance(inner, dict) else None
        if isinstance(inner, dict) and old[-1] in inner:
            kept = [(name, value) for name, value in inner.items() if name != new[-1] or name == old[-1]]
            items = [(new[-1] if name == old[-1] else name, value) for name, value in kept]
            inner.clear()
            inner.update(items)
    return made


def _uniq(rows: Rows, counted: bool) -> Rows:
    groups: list[list[Any]] = []
    for row in rows:
        if groups and identity(groups[-1][0]) == identity(row):
            groups[-1].append(row)
        else:
            groups.append([row])
    return [{"value": group[0], "count": len(group)} if counted else group[0] for group in groups]


def _sample(rows: Rows, count: int) -> Rows:
    from tests.corpus.reference.functions import type_text

    by_shape: dict[str, Rows] = {}
    for row in rows:
        by_shape.setdefault(type_text(row), []).append(row)
    return [row for some in by_shape.values() for row in some[:count]]


def _aggregate(operator: ast.Aggregate, rows: Rows) -> Rows:
    groups: dict[Any, tuple[dict[str, Any], Rows]] = {}
    for row in rows:
        keys: dict[str, Any] = {}
        if operator.every is not None:
            keys["ts"] = _bucket(evaluate(ast.Name("ts"), row), Duration(operator.every))
        for each in operator.keys:
            keys[".".join(ast.assigned_path(each))] = evaluate(each.value, row)
        keys = {name: None if value is ERROR else value for name, value in keys.items()}
        group = tuple(identity(value) for value in keys.values())
        groups.setdefault(group, (keys, []))[1].append(row)
    if not groups and not operator.keys and operator.every is None:
        groups[()] = ({}, [])
    made = []
    for keys, members in groups.values():
        result: dict[str, Any] = {}
        for name, value in keys.items():
            if value is not MISSING:
                _set(result, _path_of(operator, name), value)
        for each, path in zip(operator.values, _paths(operator), strict=True):
            assert isinstance(each.value, ast.Call)
            value = aggregated(each.value, members)
            if value is not MISSING:
                _set(result, path, value)
        made.append(result)
    return sorted(
        made, key=lambda row: repr(identity(row))
    )  # they have no order: what is equal to a sort goes by what is shown


def _paths(operator: ast.Aggregate) -> list[tuple[str, ...]]:
    """The paths of the values. A name that is taken gets a number."""
    taken = [ast.assigned_path(each) for each in operator.keys]
    for each in operator.values:
        path = ast.assigned_path(each)
        numbers = ("", *(f"_{number}" for number in range(1, len(taken) + 2)))
        free = ((*path[:-1], path[-1] + number) for number in numbers)
        taken.append(next(found for found in free if found not in taken))
    return taken[len(operator.keys) :]


def _path_of(operator: ast.Aggregate, name: str) -> tuple[str, ...]:
    paths = (ast.assigned_path(each) for each in operator.keys)
    return next((path for path in paths if ".".join(path) == name), (name,))


def _elements(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    elif value is not MISSING:
        yield value


def _joined(join: ast.Join, left: Rows, right: Rows) -> Iterator[Any]:
    if join.kind == "right":
        yield from _one_side(left, right, join.left, join.right, join.fields, keep=False)
        matches = partial(_matches, left, join.left)
        alone = (row for row in right if not matches(evaluate(join.right, row)))
        yield from (_cut(join.fields, row) if join.fields else row for row in alone)
    elif join.kind == "anti":
        matches = partial(_matches, right, join.right)
        yield from (row for row in left if not matches(evaluate(join.left, row)))
    else:
        yield from _one_side(left, right, join.left, join.right, join.fields, keep=join.kind == "left")


def _one_side(
    rows: Rows, others: Rows, by: ast.Expr, other_by: ast.Expr, fields: tuple[ast.Assigned, ...], *, keep: bool
) -> Iterator[Any]:
    for row in rows:
        found = _matches(others, other_by, evaluate(by, row))
        mine = row if isinstance(row, dict) else {}
        for other in found:
            if fields:
                made = _copy(mine)
                for each in fields:
                    value = evaluate(each.value, other)
                    if value is not MISSING:
                        _set(made, ast.assigned_path(each), value)
                yield made
            else:
                yield {**mine, **{name: value for name, value in other.items() if name not in mine}}
        if not found and keep:
            yield row


def _matches(others: Rows, by: ast.Expr, value: Any) -> Rows:
    if value is None or value is MISSING or value is ERROR:
        return []
    return [other for other in others if equal(evaluate(by, other), value)]


def _fused(rows: Rows) -> Rows:
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    return [{name: row.get(name) for name in names} for row in rows]


def _switched(
    of: ast.Expr | None, cases: tuple[tuple[ast.Expr | None, ast.Pipe], ...], rows: Rows, open_source: Open
) -> Rows:
    arms: list[Rows] = [[] for _ in cases]
    for row in rows:
        for number, (test, _) in enumerate(cases):
            if test is None or _taken(of, test, row):
                arms[number].append(row)
                break
    return [row for arm, (_, pipe) in zip(arms, cases, strict=True) for row in play(pipe, open_source, arm)]


def _taken(of: ast.Expr | None, test: ast.Expr, row: Any) -> bool:
    if of is None:
        return evaluate(test, row) is True
    return equal(evaluate(of, row), evaluate(test, row))
