"""A compaction on Spark: rows stay the same, objects do not overlap, and others go on meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from lochan.api.lake import compare_rows
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.row_diff.sides import RowDiffRequest as Refs
from lochan.engines.row_diff.sides import sides_of
from lochan.engines.spark import session
from lochan.engines.spark.place import TASK_MEMORY
from lochan.errors import ConcurrentCommit, Gone, Invalid, NothingToDo
from lochan.jobs.compaction import CompactJobOptions, PoolCompactionResult, compact
from lochan.jobs.compaction_plan import EVERYTHING, CompactRequest, rehearse
from lochan.jobs.diff_rows import DiffOptions, differences
from lochan.jobs.record import jobs
from lochan.lake import Lake, LakeOptions
from lochan.pools.commit_objects import delete_objects
from lochan.pools.upkeep import UPKEEP
from lochan.store.open import open_store
from lochan.versioning.open_repository import OpenRepository
from tests.run import run
from tests.servers.minio import MinioServer, minio
from tests.spark.local_spark import HERE, LEFT_SOCKETS
from tests.unit.engines.lake import ANN, QueryLake, query_lake
from tests.unit.jobs.test_compact import MIXED, PLAIN, SCATTERED, SMALL, TEXT

pytestmark = LEFT_SOCKETS
SPARK = CompactJobOptions("spark", spark=HERE)


@pytest.fixture(scope="module", autouse=True)
def stopped() -> Iterator[None]:
    yield
    session.stop()


async def compacted(
    lake: QueryLake, repository: OpenRepository, request: CompactRequest = EVERYTHING
) -> PoolCompactionResult:
    return await compact(repository, "main", lake.lake.queries(), request, actor=ANN, options=SPARK)


def test_no_row_changes_no_objects_overlap_and_a_second_finds_nothing_to_do(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", *PLAIN, *MIXED, *TEXT, settings=SMALL)
            repository = await lake.lake.open_repository("logs")
            done = await compacted(lake, repository)
            assert done.before == 10
            assert done.after > 5
            with await compare_rows(lake.lake, "logs", Refs("main~1", "main")) as diff:
                assert diff.same
                assert [len(side) for side in diff.sides.entries] == [done.before, done.after]
            assert await rehearse(repository, "main") == []
            with pytest.raises(NothingToDo):
                await compacted(lake, repository)
            [job] = await jobs(lake.lake.store, lake.lake.clock.wall(), 10)
            assert (job.kind, job.state, job.rows) == ("compact", "done", done.rows)
            await repository.close()

    run(scenario())


def test_after_many_loads_that_overlap_a_second_compaction_finds_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", *SCATTERED, settings=SMALL)
            repository = await lake.lake.open_repository("logs")
            done = await compacted(lake, repository)
            assert (done.rows, done.before) == (sum(map(len, SCATTERED)), len(SCATTERED))
            assert await rehearse(repository, "main") == []
            with await compare_rows(lake.lake, "logs", Refs("main~1", "main")) as diff:
                assert diff.same
            await repository.close()

    run(scenario())


def test_loads_and_queries_go_on_and_who_deletes_what_it_reads_wins(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", *PLAIN, settings=SMALL)
            repository = await lake.lake.open_repository("logs")
            task = asyncio.create_task(
                compacted(lake, repository, CompactRequest(policy=UPKEEP._replace(overlapping_max=2)))
            )
            await lake.load("logs", [{"k": 5, "v": "meanwhile"}])
            assert await lake.rows("from logs | count()") == [{"count": 1_501}]
            assert not task.done()
            await task
            assert await lake.rows("from logs | count()") == [{"count": 1_501}]
            assert await lake.rows('from logs | v == "meanwhile" | cut k') == [{"k": 5}]

            ids = [path.name for path in await lake.files("logs")]
            task = asyncio.create_task(compacted(lake, repository))
            group = (await rehearse(repository, "main"))[0]
            await delete_objects(repository, "main", [group.paths[0]], actor=ANN)
            assert not task.done()
            with pytest.raises(ConcurrentCommit):
                await task
            assert len(await lake.files("logs")) == len(ids) - 1
            await repository.close()

    run(scenario())


def test_a_lake_in_a_bucket_is_read_and_written_by_executors() -> None:
    """They get the options to open it: they have nothing of the driver's environment."""

    async def scenario(server: MinioServer) -> None:
        url, options = f"s3://{server.bucket('compacted')}/lake", server.options
        opened = await Lake.create(open_store(url, options), world=LakeOptions(options=options))
        lake = QueryLake(opened)
        await lake.pool("logs", *PLAIN[1:], settings=SMALL)
        repository = await opened.open_repository("logs")
        done = await compacted(lake, repository)
        assert done.after > 1
        with await compare_rows(opened, "logs", Refs("main~1", "main"), DiffOptions("spark", spark=HERE)) as diff:
            assert diff.same
            assert diff.sides.size_bytes == done.bytes_before + done.bytes_after
        await repository.close()
        await opened.close()

    with minio() as server:
        run(scenario(server))


def test_an_object_that_is_gone_is_named(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", *PLAIN, settings=SMALL)
            (await lake.files("logs"))[0].unlink()
            repository = await lake.lake.open_repository("logs")
            with pytest.raises(Gone, match="is gone"):
                await compacted(lake, repository)
            await repository.close()

    run(scenario())


def test_a_task_has_the_memory_that_the_session_says(tmp_path: Path) -> None:
    """One that is no size is refused before any task runs: so it is looked at."""
    spark = session.session_at(HERE, STANDARD)
    own = CompactJobOptions("spark", session=spark)
    spark.conf.set(TASK_MEMORY, "nothing")

    async def scenario() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", *PLAIN, settings=SMALL)
            repository = await lake.lake.open_repository("logs")
            with pytest.raises(Invalid, match=TASK_MEMORY):
                await compact(repository, "main", lake.lake.queries(), EVERYTHING, actor=ANN, options=own)
            with pytest.raises(Invalid, match=TASK_MEMORY):
                sides = await sides_of(repository, Refs("main~1", "main"))
                differences(spark, lake.lake.place, sides)
            await repository.close()

    try:
        run(scenario())
    finally:
        spark.conf.unset(TASK_MEMORY)
