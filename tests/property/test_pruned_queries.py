"""Random nested queries give the same rows whether objects are left out or all of them are read.

The seeds are fixed, so that a failure today is a failure tomorrow; with more of them this is a search for bugs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from lochan.api.queries import run_query
from lochan.errors import LochanError
from lochan.lake import Lake
from lochan.pools.row_tests import ANY_ROW
from lochan.query.sources import pool as pool_source
from lochan.query.sources import resolve
from lochan.query.sources.resolve import SourceNeeds
from lochan.store.local import LocalStore
from tests.property.random_nested import POOLS, pipe, sql
from tests.run import run
from tests.unit.engines.lake import query_lake

QUERIES = int(os.environ.get("LOCHAN_QUERIES", "60"))  # of each language
_OBJECTS = 5
_ROWS = 4


@pytest.mark.thorough
@pytest.mark.parametrize("made", [sql, pipe], ids=["sql", "pipes"])
def test_nothing_is_lost(tmp_path: Path, made: Any) -> None:
    async def play() -> tuple[int, int]:
        lake = await _lake(tmp_path)
        try:
            refused, skipped = 0, 0
            for seed in range(QUERIES):
                query = made(Random(seed))
                with pytest.MonkeyPatch.context() as patch:
                    _read_everything(patch)
                    whole = await _answer(lake, query)
                if isinstance(whole, LochanError):
                    refused += 1
                    continue
                found = await _answer(lake, query)
                assert not isinstance(found, LochanError), (seed, query, found)
                assert found[0] == whole[0], (seed, query)
                assert whole[1] == 0, query
                skipped += found[1]
            return refused, skipped
        finally:
            await lake.close()

    refused, skipped = run(play())
    assert refused < QUERIES / 2
    assert skipped > QUERIES  # or nothing was tested


def _read_everything(patch: pytest.MonkeyPatch) -> None:
    def needs(*of: Any) -> Iterator[SourceNeeds]:
        return (SourceNeeds(each.source) for each in _needs(*of))

    _needs = resolve.source_needs
    patch.setattr(resolve, "source_needs", needs)
    patch.setattr(pool_source, "of_sql", lambda test: ANY_ROW)


async def _answer(lake: Lake, query: str) -> tuple[list[str], int] | LochanError:
    """The rows, and how many objects were left out."""
    try:
        with await run_query(lake, query) as result:
            rows = sorted(str(list(row.items())) for row in result.rows())
    except LochanError as error:
        return error
    return rows, sum(each.objects for each in result.stats.skipped)


async def _lake(folder: Path) -> Lake:
    """Objects with a span of the key each, of which some overlap, and with fields that others have not."""
    random = Random(5)
    async with query_lake(folder) as lake:
        for pool in POOLS:
            number = iter(range(1000))
            loads = [[_row(random, next(number), at) for _ in range(_ROWS)] for at in range(_OBJECTS)]
            await lake.pool(pool, *loads)
    return await Lake.open(LocalStore(str(folder / "lake")))


def _row(random: Random, number: int, at: int) -> dict[str, Any]:
    row: dict[str, Any] = {"n": number}
    if random.random() < 0.95:
        row["k"] = random.choice((2 * at, 2 * at + 1, 2 * at + 2, 2 * at + 0.5))
    if random.random() < 0.8:
        row["s"] = random.choice(("abcdef"[at], "abcdef"[at + 1], None, at))
    if at > 1 and random.random() < 0.8:
        row["t"] = random.choice((f"2026-11-0{at}T10:00:00Z", "c", at, None))
    if at % 2:
        row["x"] = random.randrange(3)
    return row
