"""Every query can be written as text that means the same; and any text at all gets an answer."""

import re
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lochan.query.ast import Pipe
from lochan.query.errors import QueryError
from lochan.query.functions import AGGREGATES, FUNCTIONS
from lochan.query.syntax.parse import OPERATORS, TREE_MAX, parse
from tests.pipe_text import unparse
from tests.unit.query.syntax.trees import PIPES

PIECES = [*OPERATORS, *list(FUNCTIONS)[:8], *list(AGGREGATES)[:4], "and", "or", "not", "in", "case", "default"]
PIECES += re.split(
    r"\s+",
    r"""a b.c 5 1h => ( ) [ ] { } , := == | "x" `y` /re/ g* - ? : range to tap @dev 'q /* -- \
    10.0.0.1 10.0.0.0/8 ::1 2026-11-01 9e999 ~ ! like between""",
)


@pytest.mark.thorough
@given(pipe=PIPES)
@settings(max_examples=400, suppress_health_check=list(HealthCheck), deadline=None)
def test_a_tree_comes_back(pipe: Pipe) -> None:
    assert parse(unparse(pipe)) == pipe


@pytest.mark.thorough
@given(text=st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join))
@settings(max_examples=1500, suppress_health_check=list(HealthCheck), deadline=None)
def test_any_text_parses_or_says_where_it_does_not(text: str) -> None:
    try:
        pipe = parse(text)
    except QueryError as error:
        assert 0 <= error.start <= len(text)
        assert 1 <= error.line <= text.count("\n") + 1 and error.column >= 1 and error.length >= 1
        assert error.message and "^" in str(error)
    else:
        assert parse(unparse(pipe)) == pipe


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        "where " + "(" * 10_000 + "a" + ")" * 10_000,
        "where " + "[" * 10_000,
        "where " + "{a:" * 10_000,
        "where " + "not " * 10_000 + "a",
        "where " + "- " * 10_000 + "a",
        "not " * 10_000 + "a",
        "where " + "abs(" * 10_000,
        "where a" + "[0]" * 10_000,
        "where a" + ".b" * 10_000,
        "where a" + " + a" * 10_000,
        "where " + "a ? b : " * 10_000 + "c",
        "fork (=> " * 10_000,
        "switch (case a => " * 10_000,
        "union (from a | " * 10_000,
        "head 1 | " * 10_000 + "head 1",
    ],
    ids=lambda text: text[:20],
)
def test_ten_thousand_levels_are_an_error(text: str) -> None:
    began = time.process_time()
    with pytest.raises(QueryError, match=r"deep|in a row"):
        parse(text)
    assert time.process_time() - began < 2


@pytest.mark.thorough
def test_a_thousand_conditions_are_not_deep() -> None:
    text = "where " + " or ".join(f"a == {number}" for number in range(5_000))
    assert parse(unparse(parse(text))) == parse(text)
    assert len(parse("error " * 5_000).operators) == 1
    assert TREE_MAX > 13
