"""Tasks of a load read pieces of objects from a bucket: no file goes through the driver."""

import json
from pathlib import Path

import pytest

from lochan.api.pool import load_rows
from lochan.clock import SystemClock
from lochan.errors import Conflict
from lochan.ids import Ids
from lochan.jobs.load.files import File, local_file
from lochan.jobs.load.sizes import LoadSizes
from lochan.jobs.messages import TaskFailed, error_of
from lochan.store.open import StoreLocation
from tests.run import run
from tests.servers.minio import MinioServer
from tests.unit.engines.lake import ANN
from tests.unit.jobs.load.local_load import load_here
from tests.unit.jobs.load.test_load import FILES, MIXED, ndjson
from tests.unit.jobs.place import JobPool, job_pool


async def stored(place: StoreLocation, name: str, data: bytes) -> File:
    store = place.open(clock=SystemClock(), ids=Ids())
    await store.put(name, data)
    stat = await store.head(name)
    return File(f"{place.url}/{name}", name, stat.size, stat.etag, place)


async def rows(pool: JobPool, name: str) -> list[str]:
    return sorted(map(json.dumps, await pool.lake.rows(f"from {name}")))


def test_objects_of_a_bucket(tmp_path: Path, minio_server: MinioServer) -> None:
    place = StoreLocation(f"s3://{minio_server.bucket('pieces')}/in", minio_server.options)
    assert minio_server.secret_key not in repr(place)

    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            there = [await stored(place, name, data) for name, data in FILES.items()]
            loaded = await load_here(pool, there, cutting=LoadSizes(part_bytes=6_000, split_bytes=2_000))
            assert loaded.faults.count == 0
            ours = await rows(pool, "logs")
            for name, data in FILES.items():
                (tmp_path / name).write_bytes(data)
            await pool.lake.pool("same")
            paths = [str(tmp_path / name) for name in FILES]
            await load_rows(pool.lake.lake, "same", paths, actor=ANN)
            assert ours == await rows(pool, "same")

    run(play())


def test_an_object_that_changes_meanwhile(tmp_path: Path, minio_server: MinioServer) -> None:
    place = StoreLocation(f"s3://{minio_server.bucket('changed')}", minio_server.options)

    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            file = await stored(place, "a.ndjson", ndjson(MIXED))
            await stored(place, "a.ndjson", ndjson(MIXED[::-1]))  # as long as before
            with pytest.raises(TaskFailed) as failed:
                await load_here(pool, [file])
            assert isinstance(error_of(failed.value), Conflict)
            assert await pool.lake.rows("from logs") == []

    run(play())


def test_a_file_is_read_alike_from_a_store_and_a_disk(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(range(256)) * 10)
    disk = local_file(tmp_path / "a")
    store = File("a", "a", disk.size, "", StoreLocation(f"file://{tmp_path}"))
    for begin, size in ((0, 10), (255, 300), (2_550, 100), (2_560, 1)):
        with disk.open() as one, store.open() as other:
            one.seek(begin)
            other.seek(begin)
            assert one.read(size) == other.read(size)
            assert one.tell() == other.tell()
