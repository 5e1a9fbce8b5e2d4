"""The corpus on both engines, on one lake and in one session. Two test files share it, so that two processes do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lochan.engines.spark import session
from tests.corpus.cases import Case, cases
from tests.corpus.compare import differences
from tests.corpus.lake import Ask, answers
from tests.spark.here import HERE


def half(number: int) -> list[Case]:
    """Every second case, from the first (0) or the second (1) on."""
    return cases()[number::2]


def lake_of(folders: pytest.TempPathFactory) -> Iterator[Ask]:
    with answers(folders.mktemp("corpus"), HERE) as ask:
        yield ask
    session.stop()


def check(case: Case, ask: Ask) -> None:
    assert differences(ask(case.query, "duckdb"), ask(case.query, "spark")) == ([], [])
