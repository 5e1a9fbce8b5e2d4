"""Every query of the corpus, asked of a real lake: DuckDB gives what the reference gives where that knows the source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lochan.query.syntax.parse import parse
from tests.corpus.cases import Case, cases
from tests.corpus.compare import differences
from tests.corpus.lake import LakeRows, answer, corpus_lake, make
from tests.corpus.reference.operators import play
from tests.corpus.reference.sources import Unknown
from tests.corpus.reference.values import plain
from tests.run import run

ROWS = LakeRows()


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Of each case: its rows, or why there are none."""

    async def asked() -> dict[str, Any]:
        folder: Path = tmp_path_factory.mktemp("corpus")
        await make(folder)
        async with corpus_lake(folder) as lake:
            found: dict[str, Any] = {}
            for case in cases():
                try:
                    found[case.id] = await answer(lake, case.query)
                except Exception as error:  # told by the case's own test
                    found[case.id] = error
            return found

    return run(asked())


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_duckdb_answers(case: Case, answers: dict[str, Any]) -> None:
    found = answers[case.id]
    if isinstance(found, Exception):
        raise found
    try:
        expected = [plain(row) for row in play(parse(case.query), ROWS)]
    except Unknown:  # metadata: that there is an answer is all that can be said of every lake
        assert all(isinstance(row, dict) for row in found)
        return
    assert differences(expected, found) == ([], [])
