"""The first half of the corpus: every query gives the same rows on Spark as on DuckDB."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.corpus.cases import Case
from tests.corpus.lake import Ask
from tests.spark.both_engines import COMPUTED, check, half, lake_of
from tests.spark.local_spark import LEFT_SOCKETS

pytestmark = LEFT_SOCKETS


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    yield from lake_of(tmp_path_factory)


@pytest.mark.parametrize("case", half(0))
def test_both_engines_give_the_same_rows(case: Case, ask: Ask) -> None:
    check(case, ask)


@pytest.mark.parametrize("query", COMPUTED)
def test_both_engines_compute_alike(query: str, ask: Ask) -> None:
    check(Case("computed", query, query), ask)
