"""Rows that both sides of a merge replaced, computed by the engine from real objects."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from lochan.engines.duckdb.delete import delete_where
from lochan.engines.duckdb.load.load import load_rows
from lochan.engines.duckdb.merge_rows import RowConflicts, merge_rows
from lochan.formats.entry_table import entries_of
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.pools.commit_objects import add_objects
from lochan.pools.merge import RowMerge
from lochan.pools.objects import entries
from lochan.pools.settings import settings_of
from lochan.tree.merge import Strategy
from lochan.versioning.branches import create_branch
from lochan.versioning.heads import moves as head_moves
from tests.run import run
from tests.unit.engines.lake import ANN, BY_K, QueryLake, query_lake

Rows = list[dict[str, Any]]
KEYED = PoolSettings((PoolKey(("k",)),), primary_key=(("k",),))
BODY: Rows = [{"k": 9, **{f"f{n}": n for n in range(1_100)}}]  # more columns than a file is given
NESTED = {"k": 1, "a": {"b": [1, 2], "c": None}, "t": "x"}


async def merged(
    fixture: QueryLake, base: Rows, ours: Rows, theirs: Rows, settings: PoolSettings = BY_K, strategy: str = "default"
) -> Rows:
    await fixture.pool("logs", settings=settings)
    repository = await fixture.lake.open_repository("logs")
    sides = []
    for name, rows in (("base", base), ("ours", ours), ("theirs", theirs)):
        await create_branch(repository, name, "main", actor=ANN)
        if rows:
            await load_rows(repository, name, rows, actor=ANN)
        tree = await repository.tree((await repository.resolve(name)).commit)
        sides.append(entries_of(await entries(tree)))
    b, o, t = sides
    request = RowMerge(b, o, t, settings_of(repository.repository), Strategy(strategy))
    _, mint = await repository.refs()
    made = await merge_rows(repository, request, mint, fixture.lake.queries().files)
    if made:
        await add_objects(repository, "main", made, actor=ANN)
    await repository.close()
    return await fixture.rows("from logs") if made else []


def in_order(rows: Iterable[Any]) -> list[str]:
    return sorted(json.dumps(row) for row in rows)


A, B, C, D = ({"k": number, "v": text} for number, text in enumerate("abcd"))
NONE: dict[str, Any] = {"k": 5, "v": None}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "base, ours, theirs, expected",
    [
        pytest.param([A, B], [A, B], [A, B], [A, B], id="both compacted"),
        pytest.param([A, B], [A], [B], [], id="each removed another"),
        pytest.param([A, B], [A, B, C], [A, B, D], [A, B, C, D], id="each added another"),
        pytest.param([A, B], [A, B, C], [A, B, C], [A, B, C], id="both added the same"),
        pytest.param([A, A], [A], [A], [A], id="both removed what was there twice"),
        pytest.param([A], [A, A, A], [A, A], [A, A, A, A], id="both doubled it, one more often"),
        pytest.param([A], [], [], [], id="nothing is left"),
        pytest.param(
            [{"k": 1}, {"k": 1, "v": None}, {"k": 1, "v": 1}, {"k": 1, "v": 1.0}, {"k": 1, "v": "1"}],
            [{"k": 1}, {"k": 1, "v": None}, {"k": 1, "v": 1}, {"k": 1, "v": 1.0}],
            [{"k": 1}, {"k": 1, "v": 1}, {"k": 1, "v": 1.0}, {"k": 1, "v": "1"}],
            [{"k": 1}, {"k": 1, "v": 1}, {"k": 1, "v": 1.0}],
            id="missing, null and kinds are told apart",
        ),
        pytest.param([A, B], [A, B, NONE], [A], [A, NONE], id="a column gets a null, and equal rows another shape"),
        pytest.param(
            [NONE, {"k": 6, "v": 1}],  # here null goes with the int
            [NONE, {"k": 6, "v": 1}, A],
            [NONE, A],  # and here with the text
            [NONE, A],
            id="the same null beside other kinds",
        ),
        pytest.param(
            [{"k": 1, "o": {"c": None}}, {"k": 2, "o": None}],
            [{"k": 1, "o": {"c": None}}, {"k": 2, "o": None}, {"k": 3, "o": {"c": 1}}],
            [{"k": 1, "o": {"c": None}}],
            [{"k": 1, "o": {"c": None}}, {"k": 3, "o": {"c": 1}}],
            id="an object of nothing but nulls is none",
        ),
        pytest.param([NESTED], [NESTED, {"k": 2, "a": 5}], [NESTED], [NESTED, {"k": 2, "a": 5}], id="nested"),
        pytest.param([*BODY, A], [*BODY, A, B], [*BODY], [*BODY, B], id="as texts"),
        pytest.param(
            [{"#n": 1, "k": 1}], [{"#n": 1, "k": 1}], [{"#n": 1, "k": 1}], [{"#n": 1, "k": 1}], id="odd names"
        ),
    ],
)
def test_rows_are_counted(base: Rows, ours: Rows, theirs: Rows, expected: Rows, tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as fixture:
            assert in_order(await merged(fixture, base, ours, theirs)) == in_order(expected)

    run(play())


A2, A3, NO_KEY = {"k": 0, "v": "new"}, {"k": 0, "v": "newer"}, {"v": "none"}


@pytest.mark.thorough
@pytest.mark.parametrize("more", [[], BODY], ids=["as columns", "as texts"])
@pytest.mark.parametrize(
    "ours, theirs, strategy, expected",
    [
        ([A2, B], [A, B, C], "default", [A2, B, C]),
        ([A, B], [A3, B], "default", [A3, B]),
        ([A2, B], [A2, B], "default", [A2, B]),
        ([A2, B], [A3, B], "source-wins", [A3, B]),
        ([A2, B], [A3, B], "dest-wins", [A2, B]),
        ([B], [A3, B], "source-wins", [A3, B]),
        ([A2, B], [A3, B], "default", None),
        ([A, B, NO_KEY], [A, B, NO_KEY, NO_KEY], "default", [A, B, *[NO_KEY] * 3]),
    ],
)
def test_rows_of_one_primary_key_are_settled_together(
    ours: Rows, theirs: Rows, strategy: str, expected: Rows | None, more: Rows, tmp_path: Path
) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as fixture:
            sides = [A, B, *more], [*ours, *more], [*theirs, *more]
            if expected is None:
                with pytest.raises(RowConflicts, match=r"1 row of the same k: k=0 \(") as caught:
                    await merged(fixture, *sides, settings=KEYED)
                assert caught.value.keys == ({"k": 0},)
                return
            found = await merged(fixture, *sides, settings=KEYED, strategy=strategy)
            assert in_order(found) == in_order([*expected, *more])

    run(play())


@pytest.mark.thorough
def test_a_merge_of_two_deletes_and_its_revert(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as fixture:
            await fixture.pool("logs", [{"k": k, "host": f"h{k % 3}"} for k in range(30)])
            repository = await fixture.lake.open_repository("logs")
            await create_branch(repository, "dev", "main", actor=ANN)
            files = fixture.lake.queries().files
            await delete_where(repository, "dev", "k < 10", files, actor=ANN)
            deleted = await delete_where(repository, "main", "host == 'h1'", files, actor=ANN)
            await head_moves.merge(repository, "dev", "main", actor=ANN)
            assert [row["k"] for row in await fixture.rows("from logs")] == [k for k in range(10, 30) if k % 3 != 1]
            await head_moves.revert(repository, "main", deleted.head, actor=ANN)
            assert [row["k"] for row in await fixture.rows("from logs | sort k")] == sorted(
                [*range(10, 30)] + [k for k in range(10) if k % 3 == 1]
            )
            await repository.close()

    run(play())


@pytest.mark.thorough
@pytest.mark.parametrize("more", [[], BODY], ids=["as columns", "as texts"])
@pytest.mark.parametrize("key", [7, -1.5, "1", 'a "b", c', True, 2**70, "2026-11-01T10:00:00Z"])
def test_conflicts_name_keys_as_values(key: Any, more: Rows, tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as fixture:
            base, ours, theirs = ([{"k": key, "v": version}, *more] for version in range(3))
            with pytest.raises(RowConflicts) as caught:
                await merged(fixture, base, ours, theirs, settings=KEYED)
            assert caught.value.keys == ({"k": key},)
            assert caught.value.paths == (f"k={json.dumps(key)}",)

    run(play())
