"""The corpus on both engines, on one lake and in one session. Two test files share it, so two processes can run it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from _pytest.mark import ParameterSet

from lochan.engines.spark import session
from tests.corpus.cases import Case, cases
from tests.corpus.compare import differences, in_order
from tests.corpus.coverage import covering
from tests.corpus.lake import Ask, answers
from tests.spark.local_spark import HERE

# What Spark makes of numbers that no decimal holds, and of those in JSON text, takes it up to minutes to compile.
_SLOW_NUMBERS = (
    "every number has its place",
    "elements one by one",
    "in a list of every kind",
    "within records and lists as they were loaded",
    "a list within a record",
    "beside its nearest float in one list",
    "elements beside their nearest float",
    "text with a number of many digits",
)
# The same of records in text that several values of theirs are put into.
_SLOW_RECORDS = ("put several fields, one of them missing", "put into records within records")

# What is computed with decimals: of a lake's objects, for the corpus' own rows are texts. The answers themselves are in
# tests/unit/engines/test_decimals.py.
COMPUTED = [
    "from numbers | cut k, a:=u*2, b:=u-1, c:=-u+k, d:=u*0.25",
    "from numbers | cut k, a:=round(u*0.25, 1), b:=floor(u*0.3), c:=ceil(u*0.3)",
    "from numbers | where u+1 > 9223372036854775807 | sort u*2 | cut k, u",
    "from numbers | sum(u*3), max(u+1), avg(u-1)",
    "from numbers | cut k, a:=u%10, b:=-u%2.5, c:=u/3, d:=u*float64(k), e:=u%0",
    "select u, count(*) as n from numbers group by u order by u desc",
    "select distinct u + 1 as v from numbers order by v",
    "select k from numbers where u > (select min(u) from numbers where u > 9) order by k",
]


_TIMES = 4  # that the quick form asks for everything that a query can use; the full form plays all cases


def half(number: int) -> list[ParameterSet]:
    """Every second case, from the first (0) or the second (1) on. The quick form plays those whose rows have an order,
    and every fourth of a file, beside those that cover the language."""
    chosen = covering((case.query for case in cases() if not _is_slow(case)), _TIMES)
    return [
        _case(case, not _is_slow(case) and (case.ordered or case.query in chosen or at % 4 == 0))
        for at, case in enumerate(cases()[number::2])
    ]


def _is_slow(case: Case) -> bool:
    return case.name in {"numbers": _SLOW_NUMBERS, "records_in_text": _SLOW_RECORDS}.get(case.file, ())


def _case(case: Case, is_quick: bool) -> ParameterSet:
    return pytest.param(case, id=case.id, marks=[] if is_quick else [pytest.mark.full, pytest.mark.timeout(1_200)])


def lake_of(folders: pytest.TempPathFactory) -> Iterator[Ask]:
    with answers(folders.mktemp("corpus"), HERE) as ask:
        yield ask
    session.stop()


def check(case: Case, ask: Ask) -> None:
    one, other = ask(case.query, "duckdb"), ask(case.query, "spark")
    assert differences(one, other) == ([], [])
    assert not case.ordered or in_order(one, other)
