"""Finds what the queries of the corpus use: operators, functions, aggregates, kinds of literals, forms of sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from lochan.query import ast
from lochan.query.functions import AGGREGATES, FUNCTIONS
from lochan.query.syntax.parse import parse


def used(query: str) -> set[str]:
    return set(_of(parse(query)))


def counted(queries: list[str]) -> Counter[str]:
    return Counter(name for query in queries for name in used(query))


def covering(queries: Iterable[str], times: int) -> set[str]:
    """The first of them that use everything at least so often; or as often as all of them do."""
    seen: Counter[str] = Counter()
    chosen = set()
    for query in queries:
        names = used(query)
        if any(seen[name] < times for name in names):
            chosen.add(query)
            seen.update(names)
    return chosen


def _of(node: Any) -> Iterator[str]:
    match node:
        case ast.Call(name):
            yield f"function {name}" if name in FUNCTIONS else f"aggregate {name}"
            if name in FUNCTIONS and name in AGGREGATES:
                yield f"aggregate {name}"
        case ast.Literal(kind):
            yield f"literal {kind}"
        case ast.Binary(op):
            yield f"operator {op}"
        case ast.Join(kind):
            yield f"join {kind}"
        case ast.Source():
            yield from _source(node)
    if isinstance(node, ast.Node):
        yield type(node).__name__
        for name in node.__struct_fields__:
            yield from _of(getattr(node, name))
    elif isinstance(node, tuple):
        for each in node:
            yield from _of(each)


def _source(source: ast.Source) -> Iterator[str]:
    if source.meta:
        yield f"source {':' if source.name is None else 'x:'}{source.meta}"
    if source.path:
        yield "source of files"
    if source.ref:
        yield "source at a ref"
    if source.no_key:
        yield "source without key"
    if source.low is not None:
        yield "source in a range"
    if source.tap:
        yield "source tapped"
    if not isinstance(source.name, str | None):
        yield f"source by {type(source.name).__name__}"
