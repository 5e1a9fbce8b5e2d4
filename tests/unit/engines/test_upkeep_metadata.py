"""Metadata about upkeep: sizes and growth over commits, plans and their lists, what nothing names, and jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lochan.api.collection import GarbageCollection
from lochan.api.session import Session
from lochan.errors import Invalid
from lochan.jobs.record import record_job
from lochan.query.sources.meta import sizes
from lochan.query.sources.meta.lake import _about
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.objects import delete, put
from lochan.versioning.open_repository import OpenRepository
from tests.run import run
from tests.unit.engines.lake import ANN, QueryLake, query_lake
from tests.unit.pools.place import once


async def committed(repository: OpenRepository, *paths: str, gone: str = "") -> None:
    for path in paths:
        await put(repository, "main", path, once(path.encode()), actor=ANN)
    if gone:
        await delete(repository, "main", [gone], actor=ANN)
    await commit(repository, "main", CommitRequest(f"{paths}"), actor=ANN)


async def shop(lake: QueryLake) -> OpenRepository:
    await lake.lake.create_repository("shop", actor=ANN)
    repository = await lake.lake.open_repository("shop")
    await committed(repository, "a/x/1", "a/x/2", "a/y", "top")
    await committed(repository, "a/x/3", "b/z", gone="a/y")
    return repository


def test_sizes_and_growth_of_every_commit(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            repository = await shop(lake)
            found = await lake.rows("from shop:sizes | cut depth, prefix, objects, bytes")
            assert found == [
                {"depth": 0, "prefix": "", "objects": 5, "bytes": 21},
                {"depth": 1, "prefix": "a/", "objects": 3, "bytes": 15},
                {"depth": 1, "prefix": "b/", "objects": 1, "bytes": 3},
                {"depth": 2, "prefix": "a/x/", "objects": 3, "bytes": 15},
                {"depth": 0, "prefix": "", "objects": 4, "bytes": 16},
                {"depth": 1, "prefix": "a/", "objects": 3, "bytes": 13},
                {"depth": 2, "prefix": "a/x/", "objects": 2, "bytes": 10},
                {"depth": 0, "prefix": "", "objects": 0, "bytes": 0},
            ]
            grown = await lake.rows(
                "from shop:growth | cut added, removed, changed, bytes_added, bytes_removed, objects"
            )
            assert [tuple(row.values()) for row in grown] == [
                (2, 1, 0, 8, 3, 5),
                (4, 0, 0, 16, 0, 4),
                (0, 0, 0, 0, 0, 0),
            ]
            await repository.close()

    run(play())


def test_a_shared_range_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            repository = await shop(lake)
            made: list[int] = []
            by_prefix = sizes._by_prefix

            def counted(paths: pa.Array, bytes: pa.Array) -> sizes.Totals:
                made.append(1)
                return by_prefix(paths, bytes)

            monkeypatch.setattr(sizes, "_by_prefix", counted)
            monkeypatch.setattr(sizes, "_known", type(sizes._known)(1000))
            first = await sizes.size_rows(repository, "main")
            assert len(made) == 2  # one range for each commit that is not empty
            assert await sizes.size_rows(repository, "main") == first
            assert len(made) == 2
            await repository.close()

    run(play())


def test_who_may_read_part_of_it_sees_the_totals_of_that_part(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            repository = await shop(lake)

            async def readable(paths: pa.Array) -> pa.Array:
                return pc.starts_with(paths, "b/")

            found = await sizes.size_rows(repository, "main", readable)
            assert [(row["prefix"], row["objects"], row["bytes"]) for row in found.rows] == [
                ("", 1, 3),
                ("b/", 1, 3),
                ("", 0, 0),
                ("", 0, 0),
            ]
            grown = await sizes.growth_rows(repository, "main", readable)
            assert [(row["added"], row["removed"], row["bytes_added"]) for row in grown.rows] == [
                (1, 0, 3),
                (0, 0, 0),
                (0, 0, 0),
            ]
            assert not any("bytes" in row for row in grown.rows)
            await repository.close()

    run(play())


def test_plans_their_lists_and_what_nothing_names(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.lake.create_repository("shop", actor=ANN)
            repository = await lake.lake.open_repository("shop")
            for size in (10, 3_000_000, 5):
                await put(repository, "main", "k", once(bytes(size)), actor=ANN)
            await repository.close()
            found = await lake.rows("from shop:unreferenced | cut kind, size")
            assert found == [{"kind": "data", "size": 3_000_000}, {"kind": "data", "size": 10}]
            gc = GarbageCollection(Session(lake.lake, ANN), "shop")
            await gc.plan(0)
            await gc.sweep(0)
            await gc.plan(0)
            fields = "state, files, bytes, swept_files, swept_bytes"
            plans = await lake.rows(f"from shop:plans | cut {fields}")
            assert plans[0] == {"state": "swept", "files": 0, "bytes": 0, "swept_files": 0, "swept_bytes": 0}
            assert (plans[1]["state"], plans[1]["files"], plans[1]["bytes"]) == ("open", 2, 3_000_010)
            listed = await lake.rows("from shop:planned | sum(size) by plan")
            assert [row["sum"] for row in listed] == [3_000_010]
            await gc.sweep(0, confirmed=True)
            assert await lake.rows("from shop:unreferenced") == []
            ended = await lake.rows("from :plans | swept_files > 0 | cut repository, state, swept_bytes")
            assert ended == [{"repository": "shop", "state": "swept", "swept_bytes": 3_000_010}]

    run(play())


def test_jobs(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            with record_job(lake.lake, "load", "logs@main", actor=ANN) as job:
                job.rows(7)
            assert await lake.rows("from :joblog | cut kind, about, state, rows, user") == [
                {"kind": "load", "about": "logs@main", "state": "done", "rows": 7, "user": ANN.user}
            ]

    run(play())


@pytest.mark.parametrize(
    "text, names",
    [("logs@main", {"logs"}), ("a@x, b/c.csv", {"a", "b"}), ("logs", {"logs"}), ("", {""}), ("gc", {"gc"})],
)
def test_which_repositories_a_job_names(text: str, names: set[str]) -> None:
    assert _about(text) == names


BAD = {
    "from shop@{2026-01-01}:plans": "read as it is now",
    "from shop@main:unreferenced": "does not belong to a commit",
    "from :joblog@{2026-01-01}": "read as it is now",
    "from shop@nope:sizes": "nope",
    "from shop:sizs": "unknown metadata",
}


@pytest.mark.parametrize("text, said", BAD.items(), ids=BAD)
def test_bad_input(tmp_path: Path, text: str, said: str) -> None:
    async def play() -> Any:
        async with query_lake(tmp_path) as lake:
            await lake.lake.create_repository("shop", actor=ANN)
            return await lake.rows(text)

    with pytest.raises((Invalid, Exception), match=said):
        run(play())
