"""The corpus on both engines, on one lake and in one session. Two test files share it, so that two processes do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from _pytest.mark import ParameterSet

from lochan.engines.spark import session
from tests.corpus.cases import Case, cases
from tests.corpus.compare import differences, in_order
from tests.corpus.lake import Ask, answers
from tests.spark.here import HERE

# What Spark makes of numbers that are kept as text takes it up to minutes to compile: these few stand for the rest.
_QUICK_NUMBERS = ("greater than an int", "equal to a long one", "unequal to an int", "a hair above a float", "one of")


def half(number: int) -> list[ParameterSet]:
    """Every second case, from the first (0) or the second (1) on."""
    return [_case(case) for case in cases()[number::2]]


def _case(case: Case) -> ParameterSet:
    slow = case.file == "numbers" and case.name not in _QUICK_NUMBERS
    return pytest.param(case, id=case.id, marks=[pytest.mark.full, pytest.mark.timeout(1_200)] if slow else [])


def lake_of(folders: pytest.TempPathFactory) -> Iterator[Ask]:
    with answers(folders.mktemp("corpus"), HERE) as ask:
        yield ask
    session.stop()


def check(case: Case, ask: Ask) -> None:
    one, other = ask(case.query, "duckdb"), ask(case.query, "spark")
    assert differences(one, other) == ([], [])
    assert not case.ordered or in_order(one, other)
