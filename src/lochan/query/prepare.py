"""Prepares a query: turns its text into a plan that an engine can run, with everything resolved at one moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from lochan.errors import Invalid
from lochan.pools.snapshot import Snapshots
from lochan.query import ast
from lochan.query.compile import Plan, compile
from lochan.query.compile.plan import OpenSource
from lochan.query.errors import QueryError, UnknownField
from lochan.query.sources.catalog import EVERYTHING, Catalog, Permits
from lochan.query.sources.resolve import NoteRead, Opening, ReadFiles
from lochan.query.syntax.parse import parse
from lochan.query.syntax.tokens import is_sql

LENGTH_MAX = 500_000  # characters: parsing a longer text takes longer than running most queries


@dataclass(frozen=True)
class Prepared:
    text: str
    plan: Plan
    opening: Opening


async def prepare(
    catalog: Catalog,
    text: str,
    *,
    snapshots: Snapshots,
    now: int,
    current: str = "",
    read_files: ReadFiles | None = None,
    permits: Permits = EVERYTHING,
    ref: str = "",
    note: NoteRead | None = None,
) -> Prepared:
    """Prepares a query. `current` is the source that a query without `from` means, `pool` or `pool@branch`; `ref` is
    the ref at which sources are read that name none. Raises QueryError. Closing `opening` closes everything that it
    opens."""
    try:
        read = _read(text, current, now)
    except RecursionError:
        raise _too_deep() from None
    opening = Opening(catalog, snapshots, text, now, read_files, permits, ref, note)
    plan = await _plan(read, read.pipe, opening)
    if plan.misread:
        await opening.close()
        opening = Opening(catalog, snapshots, text, now, read_files, permits, ref)
        plan = await _plan(read, _sources_only(read.pipe), opening)
    return Prepared(text, plan, opening)


async def _plan(read: _Read, pipe: ast.Pipe, opening: Opening) -> Plan:
    """Plans the query. The meaning of a name never depends on which rows need not be read: if that is possible, all
    fields are found first."""
    try:
        sources = await opening.open(pipe)
        if read.takes_all:
            await opening.widen()
        try:
            plan = read.plan(sources, False)
            if plan.absent and await opening.widen():
                plan = read.plan(sources, False)
            return plan
        except QueryError as error:
            if not await opening.widen() and not isinstance(error, UnknownField):
                raise
            return read.plan(sources, True)
    except RecursionError:
        await opening.close()
        raise _too_deep() from None
    except BaseException:
        await opening.close()
        raise


def _sources_only(pipe: ast.Pipe) -> ast.Pipe:
    """Returns only the sources, all of which is read."""
    arms = (each.other.operators[0] for each in pipe.operators if isinstance(each, ast.Union))
    return ast.Pipe(tuple(ast.Union(ast.Pipe((source,))) for source in arms))


def _too_deep() -> Invalid:
    return Invalid("the query is nested too deeply", hint="compute it in several steps")


class _Read(NamedTuple):
    """A query of either language."""

    pipe: ast.Pipe  # the sources to be opened
    plan: Callable[[OpenSource, bool], Plan]  # gets the sources, and whether it tolerates fields that no row has
    takes_all: bool = False  # whether it shows all fields that exist, also of rows that need not be read


def _read(text: str, current: str, now: int) -> _Read:
    if len(text) > LENGTH_MAX:
        raise Invalid(
            f"the query has {len(text):,} characters; the limit is {LENGTH_MAX:,}",
            hint="load long lists of values into a pool, and join with it",
        )
    if is_sql(text):
        from lochan.query.sql.query import read

        query = read(text)
        return _Read(query.pipe, lambda sources, tolerant: query.plan(sources, now, tolerant=tolerant), query.takes_all)
    pipe = _with_source(parse(text), current)
    rest = _drop_tapped_tests(pipe)
    return _Read(pipe, lambda sources, tolerant: compile(rest, sources, text=text, now=now, tolerant=tolerant))


def _with_source(pipe: ast.Pipe, current: str) -> ast.Pipe:
    if pipe.operators and isinstance(pipe.operators[0], ast.From):
        return pipe
    if not current:
        raise Invalid(
            "the query does not say what it reads",
            hint="begin it with `from POOL |`, or choose one with `lochan use POOL`",
        )
    name, _, ref = current.partition("@")
    return replace(pipe, operators=(ast.From((ast.Source(name, ref),)), *pipe.operators))


def _drop_tapped_tests(pipe: ast.Pipe) -> ast.Pipe:
    """Drops the tests after a tapped source. They are about the rows of the pool, and have selected the objects
    already."""
    first, *rest = pipe.operators
    if not isinstance(first, ast.From) or not any(source.tap for source in first.sources):
        return pipe
    while rest and isinstance(rest[0], ast.Where):
        rest.pop(0)
    return replace(pipe, operators=(first, *rest))
