"""What a query will want of each source, read off its first operators: so that a source leaves out what cannot matter
before anything else is asked of it.

    from logs | status >= 500 | cut host     only objects that may hold such a status
    from logs | head 5                       only objects that may hold one of the first five rows
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lochan.pools.row_tests import ANY_ROW, Test, both
from lochan.query import ast
from lochan.query.sources.bounds import of_expression


class Wanted(NamedTuple):
    source: ast.Source
    test: Test = ANY_ROW
    first: int | None = None


def wanted(pipe: ast.Pipe, now: int | None = None) -> Iterator[Wanted]:
    """Each source of the query, wherever it stands in it. `now` is when it began, in microseconds since 1970."""
    for node in _pipes(pipe):
        operators = node.operators
        if operators and isinstance(operators[0], ast.From):
            test, first = _narrowed(operators[1:], now)
            for source in operators[0].sources:
                yield Wanted(source, test, first)


def _narrowed(operators: tuple[ast.Operator, ...], now: int | None) -> tuple[Test, int | None]:
    tests: list[Test] = []
    as_read = True  # the rows have the fields that the source gives them
    for operator in operators:
        match operator:
            case ast.Where(test) if as_read:
                tests.append(of_expression(test, now))
            case ast.Where():
                return both(tests), None
            case ast.Cut() | ast.Put() | ast.Drop() | ast.Rename():
                as_read = False
            case ast.Head(count):
                filtered = any(isinstance(each, ast.Where) for each in operators)
                return both(tests), None if filtered else count
            case _:
                break
    return both(tests), None


def _pipes(node: ast.Node) -> Iterator[ast.Pipe]:
    if isinstance(node, ast.Pipe):
        yield node
    for name in node.__struct_fields__:
        yield from _below(getattr(node, name))


def _below(value: object) -> Iterator[ast.Pipe]:
    if isinstance(value, ast.Node):
        yield from _pipes(value)
    elif isinstance(value, tuple):
        for each in value:
            yield from _below(each)
