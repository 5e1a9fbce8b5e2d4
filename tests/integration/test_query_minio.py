"""Queries of a lake on a real S3 server: objects are copied to this machine once, checked, and read from there."""

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from lochan.api.queries import run_query
from lochan.clock import SystemClock
from lochan.engines.run_query import RunOptions
from lochan.errors import Corrupt, Gone
from lochan.ids import Ids
from lochan.lake import CacheFolder, Lake, LakeOptions
from lochan.store.open import open_store, stack
from lochan.store.protocol import Store
from tests.run import run
from tests.servers.minio import MinioServer
from tests.unit.engines.lake import QueryLake

_prefixes = count()
ROWS: list[list[dict[str, Any]]] = [[{"k": 1, "s": "a"}, {"k": 2}], [{"k": 3, "s": 5}]]


@pytest.fixture
def store(minio_server: MinioServer) -> Store:
    opened = open_store(f"s3://{minio_server.bucket('queries')}/lake{next(_prefixes)}", minio_server.options)
    return stack(opened, clock=SystemClock(), ids=Ids(), immutable=lambda path: True)


def cached(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*.parquet") if file.is_file()]


def test_objects_are_copied_once_and_only_those_that_are_read(store: Store, tmp_path: Path) -> None:
    async def play() -> None:
        lake = await Lake.create(store, world=LakeOptions(cache=CacheFolder(str(tmp_path), 1 << 30)))
        place = QueryLake(lake)
        await place.pool("logs", *ROWS)
        assert await place.rows("from logs | k == 3") == ROWS[1]
        [first] = cached(tmp_path)
        assert await place.rows("from logs") == [*ROWS[0], *ROWS[1]]
        assert len(cached(tmp_path)) == 2
        before = first.stat().st_mtime_ns, first.stat().st_ino
        assert await place.rows("from logs | count()") == [{"count": 3}]
        assert first.stat().st_ino == before[1]
        await lake.close()

    run(play())


def test_without_a_cache_and_in_one_that_has_no_room(store: Store, tmp_path: Path) -> None:
    async def play() -> None:
        lake = await Lake.create(store)
        await QueryLake(lake).pool("logs", *ROWS)
        assert await QueryLake(lake).rows("from logs | count()") == [{"count": 3}]
        await lake.close()
        small = await Lake.open(store, world=LakeOptions(cache=CacheFolder(str(tmp_path), 1)))
        assert await QueryLake(small).rows("from logs | count()") == [{"count": 3}]
        assert not cached(tmp_path)
        await small.close()

    run(play())


def test_a_copy_that_was_spoilt_is_made_again(store: Store, tmp_path: Path) -> None:
    async def play() -> None:
        lake = await Lake.create(store, world=LakeOptions(cache=CacheFolder(str(tmp_path), 1 << 30)))
        place = QueryLake(lake)
        await place.pool("logs", *ROWS)
        await place.rows("from logs | count()")
        for file in cached(tmp_path):
            file.write_bytes(b"short")
        assert await place.rows("from logs | count()") == [{"count": 3}]
        await lake.close()

    run(play())


def test_objects_that_are_gone_or_damaged_on_the_store(store: Store, tmp_path: Path) -> None:
    async def play() -> None:
        lake = await Lake.create(store)
        place = QueryLake(lake)
        await place.pool("logs", *ROWS)
        [first, second] = await place.rows("from logs:objects")
        data = await store.get(first["address"])
        await store.put(first["address"], data[:-9] + b"x" + data[-8:])
        with pytest.raises(Corrupt, match=first["id"]):
            await place.rows("from logs")
        await store.delete(first["address"])
        with pytest.raises(Gone, match=first["id"]):
            await place.rows("from logs")
        with await run_query(lake, "from logs", RunOptions(go_on=True)) as result:
            assert list(result.rows()) == ROWS[1]
            assert first["id"] in json.dumps(result.warnings)
        assert second["count"] == 1
        await lake.close()

    run(play())
