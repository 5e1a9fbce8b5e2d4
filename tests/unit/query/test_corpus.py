"""The corpus covers everything, and DuckDB gives what the reference gives. Spark has its own lane."""

from __future__ import annotations

import re

import pytest

from lochan.query import ast
from lochan.query.compile import compile
from lochan.query.functions import AGGREGATES, FUNCTIONS
from lochan.query.syntax.parse import parse
from tests.corpus.cases import cases
from tests.corpus.compare import differences, in_order
from tests.corpus.coverage import counted
from tests.corpus.data import pools
from tests.corpus.reference.functions import NOW
from tests.corpus.reference.operators import play
from tests.corpus.reference.sources import Pools, Unknown
from tests.corpus.reference.values import plain
from tests.unit.query.run_query import answer
from tests.unit.query.toy_source import ToySource

POOLS = Pools(pools())
OPERATORS = {
    "From",
    "Where",
    "Cut",
    "Put",
    "Drop",
    "Rename",
    "Sort",
    "Head",
    "Tail",
    "Top",
    "Uniq",
    "Sample",
    "Aggregate",
    "Yield",
    "Over",
    "Join",
    "Fuse",
    "Union",
    "Fork",
    "Switch",
    "Between",
    "Conditional",
    "Index",
    "Slice",
    "ListOf",
    "RecordOf",
    "Term",
    "Regexp",
    "Glob",
    "This",
    "Dot",
    "Unary",
}
LITERALS = {"null", "bool", "int", "float", "string", "time", "duration", "ip", "net"}
BINARY = {"+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or", "in", "like"}
SOURCES = {
    ":pools",
    ":repositories",
    ":branches",
    ":tags",
    ":users",
    ":jobs",
    "x:branches",
    "x:tags",
    "x:settings",
    "x:indexrules",
    "x:objects",
    "x:partitions",
    "x:indexes",
    "x:log",
    "x:rawlog",
    "x:changes",
    "x:branchlog",
    "x:journal",
    "x:entries",
    "x:ranges",
    "x:staged",
}


def test_it_is_large_and_names_are_used_once() -> None:
    all = cases()
    assert len(all) >= 300
    assert len({case.id for case in all}) == len(all)
    assert sum("from mixed" in case.query for case in all) >= 100


@pytest.mark.parametrize(
    "name",
    [
        *sorted(OPERATORS),
        *(f"function {name}" for name in FUNCTIONS),
        *(f"aggregate {name}" for name in AGGREGATES),
        *(f"literal {kind}" for kind in sorted(LITERALS)),
        *(f"operator {op}" for op in sorted(BINARY)),
        *(f"source {name}" for name in sorted(SOURCES)),
        *("join inner", "join left", "join right", "join anti"),
        *("source of files", "source at a ref", "source without key", "source in a range", "source tapped"),
        *("source by Glob", "source by Regexp"),
    ],
)
def test_everything_is_asked_at_least_twice(name: str) -> None:
    assert COUNTED[name] >= 2


@pytest.mark.thorough
def test_duckdb_answers_as_the_reference_does() -> None:
    asked, wrong = 0, []
    for case in cases():
        pipe = parse(case.query)
        try:
            plan = compile(pipe, _toy, text=case.query, now=NOW.us)
        except Unknown:  # a source that only a lake has
            continue
        asked += 1
        expected = [plain(row) for row in play(pipe, POOLS)]
        given = answer(plan)
        found = differences(expected, given)
        if found != ([], []) or (case.ordered and not in_order(expected, given)):
            wrong.append((case.id, case.query, *found))
    assert wrong == []
    assert asked >= 400


def test_no_text_of_a_query_is_expanded_by_spark() -> None:
    """In texts the notation is another; a name has only one, and is refused by a session that would expand it."""
    for case in (case for case in cases() if case.file == "literal"):
        text = compile(parse(case.query), _toy, text=case.query, now=NOW.us).sql("spark")
        assert "${" not in re.sub(r"`[^`]*`", "", text), case.id


def _toy(source: ast.Source) -> ToySource:
    if not isinstance(source.name, str) or source.meta or source.ref or source.path:
        raise Unknown(source)
    if source.no_key or source.low is not None:
        raise Unknown(source)
    return TOYS[source.name]


COUNTED = counted([case.query for case in cases()])
TOYS = {
    pool.name: ToySource(
        [plain(row) for row in POOLS.rows(pool.name)],
        key=(POOLS.key(pool.name),) if pool.keys else None,
        descending=any(":desc" in key for key in pool.keys),
        times_at=[("ts",)] if pool.name.startswith(("logs", "moments")) else [],
    )
    for pool in pools()
}
