"""The plan of a read of a pool: that of a query for every field of it, whichever rows the test selects.

So a frame's columns do not depend on which rows are read. A field of several kinds has one type: ints and floats are
floats, or decimals where a float would round one of the ints; everything else is JSON text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

from sqlglot import exp

from lochan.engines.query_context import QueryContext
from lochan.engines.spark.frames.origin import Origin
from lochan.engines.spark.frames.row_origin import ORIGIN_COLUMNS
from lochan.engines.spark.frames.wide_numbers import is_wide
from lochan.errors import Invalid, Refused
from lochan.pools.kinds import FLOAT, INT, NULL
from lochan.pools.shape import Path
from lochan.query import ast
from lochan.query.compile import compile
from lochan.query.compile.plan import Plan
from lochan.query.errors import UnknownField
from lochan.query.output.columns import Column
from lochan.query.output.formats import fields
from lochan.query.sources.resolve import Opening
from lochan.query.sources.scans import Scans
from lochan.query.syntax.parse import parse
from lochan.versioning.uri import Uri


@dataclass(frozen=True)
class ReadRequest:
    """A read of a pool. `low` and `high` bound the first field of its key, both included."""

    uri: Uri
    where: str = ""  # a test of the pipe language
    columns: Sequence[str] = ()  # empty for all columns
    low: str | None = None
    high: str | None = None


@dataclass(frozen=True)
class ReadPlan:
    query: exp.Query
    row: Column
    scans: Scans
    origin: Origin
    wide: frozenset[Path] = frozenset()  # fields of ints and floats that are decimals
    origins: tuple[str, ...] = ()  # columns with the place that a row comes from

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        return [*(name for name, _ in top_fields(self.row)), *self.origins]


async def plan(at: QueryContext, request: ReadRequest, tests: Sequence[ast.Expr] = ()) -> ReadPlan:
    """Plans a read. `tests` leave out objects, but never rows of those that are read. Raises QueryError, NotFound, or
    Refused for rows that make no table."""
    text = _text(request)
    operators = parse(text).operators if text else ()
    _check(operators, request)
    origin = await _origin(at, request.uri)
    source = ast.Source(request.uri.repository, origin.commit, low=_end(request.low), high=_end(request.high))
    pipe = ast.Pipe((ast.From((source,)), *operators))
    now = at.clock.wall()
    opening = Opening(at.catalog, at.snapshots, text, now)
    try:
        tested = [ast.Where(test) for test in tests]
        sources = await opening.open(ast.Pipe((pipe.operators[0], *tested, *operators)))
        await opening.widen()
        candidates = list(dict.fromkeys(name for name in request.columns if name in ORIGIN_COLUMNS))
        made, origins = _compile(pipe, candidates, partial(compile, open_source=sources, text=text, now=now))
        top_fields(made.row)  # raises for rows that make no table
        [pool] = opening.pools
        whole = await opening.whole(pool)
    finally:
        await opening.close()
    wide = frozenset(path for path in _numbers(made.row) if is_wide(whole, path))
    return ReadPlan(made.query, made.row, opening.scans, origin, wide, origins)


def _compile(pipe: ast.Pipe, candidates: Sequence[str], compile: Callable[..., Plan]) -> tuple[Plan, tuple[str, ...]]:
    """Returns the plan, and the candidates that are not fields of the rows: as few as possible, because a field takes
    precedence."""
    unknown: UnknownField | None = None
    for count in range(len(candidates) + 1):
        for left_out in combinations(candidates, count):
            try:
                return compile(_without(pipe, left_out), ordered=False), left_out
            except UnknownField as error:
                unknown = unknown or error
    assert unknown is not None
    raise unknown


def _without(pipe: ast.Pipe, names: Sequence[str]) -> ast.Pipe:
    """Returns the pipe without these columns. REQUIRES: if there are any, the last operator names the columns."""
    cut = pipe.operators[-1]
    if not names or not isinstance(cut, ast.Cut):
        return pipe
    kept = tuple(each for each in cut.fields if not (isinstance(each.value, ast.Name) and each.value.name in names))
    return ast.Pipe((*pipe.operators[:-1], ast.Cut(kept, span=cut.span)))


def _numbers(row: Column, above: Path = ()) -> Iterator[Path]:
    """Yields the fields that hold ints and floats."""
    for name, column in row.members:
        if set(kinds(column)) == {INT, FLOAT}:
            yield (*above, name)
        yield from _numbers(column, (*above, name))


def top_fields(row: Column) -> tuple[tuple[str, Column], ...]:
    try:
        return fields(row)
    except Refused as error:
        raise Refused(error.message, hint="name the columns that you want") from error


def kinds(column: Column) -> list[str]:
    return [kind for kind in column.kinds if kind != NULL]


async def _origin(at: QueryContext, uri: Uri) -> Origin:
    """Resolves the place to a commit, so that reading in several steps sees one state."""
    repository = await at.catalog.open_repository(uri.repository)
    try:
        found = await repository.resolve(uri.ref or repository.repository.default_branch)
        return Origin(repository.repository.id, found.commit_id)
    finally:
        await repository.close()


def _text(request: ReadRequest) -> str:
    cut = f"cut {', '.join(request.columns)}" if request.columns else ""
    return " | ".join(part for part in (request.where, cut) if part)


def _check(operators: tuple[ast.Operator, ...], request: ReadRequest) -> None:
    tests = operators[:-1] if request.columns else operators
    if not all(isinstance(each, ast.Where) for each in tests):
        raise Invalid(f"where={request.where!r} is more than a test of rows", hint="such as where='status >= 500'")
    if request.columns and not isinstance(operators[-1], ast.Cut):
        raise Invalid(f"{', '.join(request.columns)}: these are no columns", hint="such as columns=['ts', 'host']")


def _end(text: str | None) -> ast.Expr | None:
    return None if text is None else ast.Literal("string", text)
