"""Every query of the corpus gives the same rows on Spark as on DuckDB, on one lake and in one session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lochan.engines.spark import session
from tests.corpus.cases import Case, cases
from tests.corpus.compare import differences
from tests.corpus.lake import Ask, answers
from tests.spark.here import HERE, LEFT_SOCKETS

pytestmark = LEFT_SOCKETS


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    with answers(tmp_path_factory.mktemp("corpus"), HERE) as ask:
        yield ask
    session.stop()


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_both_engines_give_the_same_rows(case: Case, ask: Ask) -> None:
    assert differences(ask(case.query, "duckdb"), ask(case.query, "spark")) == ([], [])
