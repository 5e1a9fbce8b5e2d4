"""What is to be read of a pool: the plan of a query for every field there is, whatever the test leaves of the rows.

So a frame's columns do not depend on which rows were asked for. A field of several kinds has one type: ints and floats
are floats, or decimals where a float would round one of the ints; everything else is JSON text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from lochan.errors import Invalid, Refused
from lochan.lake import Lake
from lochan.pools.shape import FLOAT, INT, NULL, Path
from lochan.query import ast
from lochan.query.compile import compile
from lochan.query.output.columns import Column
from lochan.query.output.formats import fields
from lochan.query.sources.resolve import Opening
from lochan.query.sources.scans import Scans
from lochan.query.syntax.parse import parse
from lochan.spark.frame_origin import Origin
from lochan.spark.wide_numbers import is_wide
from lochan.versioning.uri import Uri


@dataclass(frozen=True)
class ReadRequest:
    """Of a pool. `low` and `high` are ends of its key's first field, both included."""

    uri: Uri
    where: str = ""  # a test of the pipe language
    columns: Sequence[str] = ()  # none: all
    low: str | None = None
    high: str | None = None


@dataclass(frozen=True)
class ReadPlan:
    query: exp.Query
    row: Column
    scans: Scans
    origin: Origin
    wide: frozenset[Path] = frozenset()  # fields of ints and floats that are decimals


async def plan(lake: Lake, wanted: ReadRequest) -> ReadPlan:
    """Raises QueryError, NotFound, Refused for rows that make no table."""
    text = _text(wanted)
    operators = parse(text).operators if text else ()
    _check(operators, wanted)
    origin = await _origin(lake, wanted.uri)
    source = ast.Source(wanted.uri.repository, origin.commit, low=_end(wanted.low), high=_end(wanted.high))
    pipe = ast.Pipe((ast.From((source,)), *operators))
    around = lake.queries()
    now = around.clock.wall()
    opening = Opening(lake, around.snapshots, text, now)
    try:
        sources = await opening.open(pipe)
        await opening.widen()
        made = compile(pipe, sources, text=text, now=now, ordered=False)
        top_fields(made.row)  # raises where they make no table
        [pool] = opening.pools
        whole = await opening.whole(pool)
    finally:
        await opening.close()
    wide = frozenset(path for path in _numbers(made.row) if is_wide(whole, path))
    return ReadPlan(made.query, made.row, opening.scans, origin, wide)


def _numbers(row: Column, above: Path = ()) -> Iterator[Path]:
    """Fields that hold ints and floats."""
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


async def _origin(lake: Lake, uri: Uri) -> Origin:
    """At a commit, so that whoever reads in several steps reads one state."""
    repository = await lake.open_repository(uri.repository)
    try:
        found = await repository.resolve(uri.ref or repository.repository.default_branch)
        return Origin(repository.repository.id, found.commit_id)
    finally:
        await repository.close()


def _text(wanted: ReadRequest) -> str:
    cut = f"cut {', '.join(wanted.columns)}" if wanted.columns else ""
    return " | ".join(part for part in (wanted.where, cut) if part)


def _check(operators: tuple[ast.Operator, ...], wanted: ReadRequest) -> None:
    tests = operators[:-1] if wanted.columns else operators
    if not all(isinstance(each, ast.Where) for each in tests):
        raise Invalid(f"where={wanted.where!r} is more than a test of rows", hint="such as where='status >= 500'")
    if wanted.columns and not isinstance(operators[-1], ast.Cut):
        raise Invalid(f"{', '.join(wanted.columns)}: these are no columns", hint="such as columns=['ts', 'host']")


def _end(text: str | None) -> ast.Expr | None:
    return None if text is None else ast.Literal("string", text)
