"""Every query of the corpus on a real lake: DuckDB gives what the reference gives, if there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lochan.query.syntax.parse import parse
from tests.corpus.cases import Case, cases
from tests.corpus.compare import differences
from tests.corpus.lake import LakeRows, answers
from tests.corpus.metadata import ANSWERS, KINDS_OF_EVENTS
from tests.corpus.reference.operators import play
from tests.corpus.reference.sources import Unknown
from tests.corpus.reference.values import plain

ROWS = LakeRows()


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], list[Any]]]:
    with answers(tmp_path_factory.mktemp("corpus")) as ask:
        yield lambda query: ask(query, "duckdb")


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_duckdb_answers(case: Case, answer: Callable[[str], list[Any]]) -> None:
    found = answer(case.query)
    try:
        expected = [plain(row) for row in play(parse(case.query), ROWS)]
    except Unknown:  # metadata
        if case.name in KINDS_OF_EVENTS:
            assert sorted(row["count"] for row in found) == KINDS_OF_EVENTS[case.name]
            return
        expected = ANSWERS[case.name]
    assert differences(expected, found) == ([], [])
