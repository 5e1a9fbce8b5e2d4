"""A store with correct files and some wrong answers: everything succeeds, with the right results."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from lochan.api.lake import compare_rows
from lochan.clock import SystemClock
from lochan.engines.duckdb.delete import delete_where
from lochan.engines.row_diff.sides import RowDiffRequest
from lochan.errors import Transient
from lochan.ids import Ids
from lochan.jobs.compaction import compact
from lochan.lake import CacheFolder, Lake, LakeOptions
from lochan.store.memory import MemoryStore
from lochan.store.retry import RetryStore
from lochan.versioning.branches import create_branch
from lochan.versioning.heads.commit import CommitRequest as Commit
from lochan.versioning.heads.commit import commit
from lochan.versioning.heads.moves import merge
from lochan.versioning.objects import delete, put
from lochan.versioning.open_repository import OpenRepository
from tests.run import run
from tests.store_faults import FaultStore, StoreFault, by_odds
from tests.unit.engines.lake import ANN, QueryLake
from tests.unit.pools.place import once


def _fractions(seed: int) -> Callable[[], float]:
    numbers = count()
    return lambda: int.from_bytes(sha256(b"%d %d" % (seed, next(numbers))).digest()[:6]) / (1 << 48)


def _faulty(memory: MemoryStore, seed: int, share: float) -> FaultStore:
    odds = {
        "get": {StoreFault.CORRUPT: share * 0.8, StoreFault.SHORT: share * 0.2},
        "get_range": {StoreFault.CORRUPT: share},
        "get_stream": {StoreFault.CORRUPT: share * 0.8, StoreFault.SHORT: share * 0.2},
    }
    return FaultStore(memory, SystemClock(), by_odds(odds, _fractions(seed)))


async def _body(repository: OpenRepository, path: str) -> bytes:
    view = await repository.view(await repository.resolve("main"))
    entry = await view.get(path)
    assert entry is not None
    return await repository.reader.read_all(entry)


async def _files(lake: Lake) -> None:
    """Commits and merges, and every body read."""
    await lake.create_repository("files", actor=ANN)
    repository = await lake.open_repository("files")
    bodies = {f"{number:03}": b"%d " % number * (number * 37 % 5_000 + 1) for number in range(40)}
    for path, body in bodies.items():
        await put(repository, "main", path, once(body), actor=ANN)
    await commit(repository, "main", Commit("one"), actor=ANN)
    for turn in range(4):
        await create_branch(repository, f"dev{turn}", "main", actor=ANN)
        bodies[f"dev/{turn}"] = b"dev"
        await put(repository, f"dev{turn}", f"dev/{turn}", once(b"dev"), actor=ANN)
        await commit(repository, f"dev{turn}", Commit("theirs"), actor=ANN)
        del bodies[f"{turn:03}"]
        await delete(repository, "main", [f"{turn:03}"], actor=ANN)
        await commit(repository, "main", Commit("ours"), actor=ANN)
        await merge(repository, f"dev{turn}", "main", actor=ANN)
    await repository.close()
    again = await lake.open_repository("files")
    assert {path: await _body(again, path) for path in bodies} == bodies
    view = await again.view(await again.resolve("main"))
    assert [entry.path for entry in (await view.list("", "", limit=1_000)).entries] == sorted(bodies)
    await again.close()


async def _rows(lake: Lake) -> None:
    """Loads, deletes, a merge of rows and a compaction, and every result queried."""
    told = QueryLake(lake)
    rows = [{"k": number, "x": number * 3} for number in range(300)]
    await told.pool("logs", rows[:100], rows[100:200], rows[200:])
    repository = await lake.open_repository("logs")
    files = lake.queries().files
    await create_branch(repository, "dev", "main", actor=ANN)
    await delete_where(repository, "main", "k == 5", files, actor=ANN)
    await delete_where(repository, "dev", "k == 6", files, actor=ANN)
    await merge(repository, "dev", "main", actor=ANN)
    left = [row for row in rows if row["k"] not in (5, 6)]
    assert sorted(await told.rows("from logs"), key=lambda row: row["k"]) == left
    await compact(repository, "main", lake.queries(), actor=ANN)
    await repository.close()
    assert await told.rows("from logs | sum(x)") == [{"sum": sum(row["x"] for row in left)}]
    found = await compare_rows(lake, "logs", RowDiffRequest("main", "main~1"))
    assert sum(found.counts.values()) == 0
    found.close()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [1, 2, 3, pytest.param(4, marks=pytest.mark.full)])
@pytest.mark.parametrize("share", [0.01, 0.05])
def test_all_that_is_done_succeeds(tmp_path: Path, seed: int, share: float) -> None:
    async def play() -> None:
        memory = MemoryStore()
        store = _faulty(memory, seed, share)
        world: dict[str, Any] = {"world": LakeOptions(cache=CacheFolder(str(tmp_path), 1 << 30))}
        lake = await Lake.create(RetryStore(store, SystemClock(), Ids()), **world)
        await _files(lake)
        await _rows(lake)
        await lake.close()
        for _ in range(5):  # all records, runs and trees anew, without a cache
            another = await Lake.open(RetryStore(store, SystemClock(), Ids()))
            assert [each.name for each in await another.repositories()] == ["files", "logs"]
            files = await another.open_repository("files")
            assert await _body(files, "dev/3") == b"dev"
            await files.close()
            assert await QueryLake(another).rows("from logs | count()") == [{"count": 298}]
            await another.close()
        assert len([shot for shot in store.shots if shot.fault is not None]) > 3

    run(play())


@pytest.mark.thorough
def test_a_body_of_many_pieces_is_right_or_to_be_read_again(tmp_path: Path) -> None:
    """What was handed out cannot be taken back: the reader gets an error, and reads again."""

    async def play() -> None:
        memory = MemoryStore()
        lake = await Lake.create(memory)
        await lake.create_repository("files", actor=ANN)
        repository = await lake.open_repository("files")
        body = bytes(range(256)) * (80 << 10)  # 20 MiB, five pieces
        await put(repository, "main", "big", once(body), actor=ANN)
        await repository.close()
        await lake.close()
        faulty = await Lake.open(_faulty(memory, 7, 0.05))
        files = await faulty.open_repository("files")
        right = told = 0
        for _ in range(12):
            try:
                assert await _body(files, "big") == body
                right += 1
            except Transient as error:
                assert "read it again" in str(error)
                told += 1
        assert right > told > 0
        await files.close()
        await faulty.close()

    run(play())
