"""Work that outlives plans holds its files open; what is dead is abandoned, and comes back in vain."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from lochan.api.lake import Lake
from lochan.api.session import Session
from lochan.engines.duckdb.load import load as loads
from lochan.errors import Gone, NotFound, Refused
from lochan.formats import job as job_files
from lochan.formats.job import FAILED, FORMAT, RUNNING, JobRecord
from lochan.jobs import compaction
from lochan.jobs.entry_runs import put_run
from lochan.jobs.messages import TaskMessage, together
from lochan.jobs.write import WriteJob, WriteRequest, begin, land_job
from lochan.pools.commit_objects import add_objects
from lochan.versioning.collection import dead_jobs
from lochan.versioning.collection.plan import CollectionLimits, plan
from lochan.versioning.collection.sweep import sweep
from lochan.versioning.job_hold import JobHold, held_if_long, hold_ids, open_job
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.uri import Uri
from tests.run import run
from tests.unit.engines.lake import ANN, QueryLake, query_lake
from tests.unit.jobs.place import JobPool

pytestmark = pytest.mark.thorough

AT_ONCE = CollectionLimits(grace_s=-1e9, confirmed=True)


async def collect(lake: QueryLake, repository: OpenRepository, times: int = 1) -> None:
    for _ in range(times):
        await plan(repository, lake.lake.id, AT_ONCE, actor=ANN)
        await sweep(repository, lake.lake.id, AT_ONCE, actor=ANN)


async def opened(lake: QueryLake) -> OpenRepository:
    await lake.pool("logs", [{"k": 1}])
    return await lake.lake.open_repository("logs")


def held(repository: OpenRepository) -> list[str]:
    return [id for id, _ in repository.folded().collection.all_held()]


def test_a_load_that_outlives_many_plans_lands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            repository = await opened(lake)
            store_objects = vars(loads)["store_objects"]

            async def slow(*args: Any) -> Any:
                made = await store_objects(*args)
                await collect(lake, repository)
                (hold,) = holds
                await hold.look()  # what its watch does, now and then
                assert len(held(repository)) == 2
                await collect(lake, repository, 3)
                return made

            holds = watched(monkeypatch)
            monkeypatch.setattr(loads, "store_objects", slow)
            await loads.load_rows(repository, "main", [{"k": 2}], actor=ANN)
            await repository.refs()
            assert held(repository) == []
            assert await lake.rows("from logs") == [{"k": 1}, {"k": 2}]
            (job,) = [stat.path async for stat in repository.store.list("_lake/jobs/")]
            assert job_files.decode(await repository.store.get(job), job).state == "done"
            await repository.close()

    run(play())


def test_a_short_load_opens_nothing(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            repository = await opened(lake)
            await collect(lake, repository, 3)
            before = (await repository.refs())[1]
            await loads.load_rows(repository, "main", [{"k": 2}], actor=ANN)
            assert (await repository.refs())[1] == before + 1, "one record, as without any plan"
            await repository.close()

    run(play())


def test_a_compaction_that_outlives_many_plans_lands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            repository = await opened(lake)
            await lake.load("logs", [{"k": 1}])
            rewrite = vars(compaction)["rewrite_objects"]

            async def slow(*args: Any) -> Any:
                made = await rewrite(*args)
                await collect(lake, repository)
                await holds[0].look()
                await collect(lake, repository, 3)
                return made

            holds = watched(monkeypatch)
            monkeypatch.setattr(compaction, "rewrite_objects", slow)
            await compaction.compact(repository, "main", lake.lake.queries(), actor=ANN)
            await repository.refs()
            assert held(repository) == []
            assert await lake.rows("from logs | count()") == [{"count": 2}]
            await repository.close()

    run(play())


@pytest.mark.parametrize("kind", ["rows", "files", "workspace"])
def test_a_write_of_spark_that_outlives_many_plans_lands(tmp_path: Path, kind: str) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", [{"k": 1}])
            made = await Lake(Session(lake.lake, ANN)).create_repository("shop")
            uri = Uri("logs", "main", "") if kind == "rows" else Uri("shop", "main", "table/")
            if kind == "workspace":
                uri = Uri("shop", (await made.branch().workspace("w")).name, "table/")
            job = await begin(lake.lake, WriteRequest(uri, ANN))
            repository = await lake.lake.open_repository(uri.repository)
            await repository.refs()
            assert held(repository) == [job.hold, f"{job.hold}/runs"]
            messages = await task_of(job)
            assert any(message.runs for message in messages), "so many entries that they come as runs"
            await collect(lake, repository, 3)
            await land_job(lake.lake, job, messages)
            await collect(lake, repository, 3)
            assert held(repository) == []
            view = await repository.view(await repository.resolve(uri.ref, workspaces=True))
            found = (await view.list("table/" if kind != "rows" else "", "", limit=9_999)).entries
            assert len(found) >= FILES
            for entry in found:
                assert (await repository.store.head(entry.blocks[0].address)).size == entry.size
            await repository.close()

    run(play())


FILES = 40


async def task_of(job: WriteJob) -> list[TaskMessage]:
    """A task that writes many small objects, and sends its entries as runs."""

    def work() -> list[TaskMessage]:
        made: list[TaskMessage] = []
        for number in range(FILES):
            made += job.write([pa.RecordBatch.from_pylist([{"k": number}])])
        return [put_run(job.target, together(made))]

    return await asyncio.to_thread(work)


def watched(monkeypatch: pytest.MonkeyPatch) -> list[JobHold]:
    """All that are made from now on."""
    made: list[JobHold] = []
    init = JobHold.__init__

    def noted(self: JobHold, *args: Any) -> None:
        init(self, *args)
        made.append(self)

    monkeypatch.setattr(JobHold, "__init__", noted)
    return made


def test_what_is_opened_too_late_is_refused(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            repository = await opened(lake)
            _, mint = await repository.refs()
            await collect(lake, repository, 2)
            with pytest.raises(Gone):
                await open_job(repository, "late", mint, actor=ANN)
            with pytest.raises(Gone):
                async with held_if_long(repository, "load", "main", mint, actor=ANN) as hold:
                    await hold.closes()
            await repository.close()

    run(play())


def test_work_that_fails_holds_nothing(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            repository = await opened(lake)
            _, mint = await repository.refs()
            await collect(lake, repository)
            with pytest.raises(ZeroDivisionError):
                async with held_if_long(repository, "load", "main", mint, actor=ANN) as hold:
                    assert len(await hold.closes()) == 2
                    raise ZeroDivisionError
            await repository.refs()
            assert held(repository) == []
            await repository.close()

    run(play())


def test_a_dead_job_is_abandoned_and_its_zombie_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", [{"k": 1}])
            pool = JobPool(lake, await lake.lake.open_repository("logs"))
            repository = pool.repository
            messages = await pool.write([{"k": 2}])
            entries = [entry for message in messages for entry in message.entries]
            _, mint = await repository.refs()
            await open_job(repository, "zombie", mint, actor=ANN)
            record = JobRecord(FORMAT, "zombie", "load", "logs@main", "ann", "test", "here", "", 1, 1, RUNNING)
            await repository.store.put(job_files.path_of("zombie"), job_files.encode(record))
            assert await dead_jobs.abandon_jobs(repository, actor=ANN) == [], "it lives"
            monkeypatch.setattr(dead_jobs, "DEAD_S", -1.0)
            (dead,) = await dead_jobs.abandon_jobs(repository, actor=ANN)
            assert (dead.id, dead.kind, dead.is_dead) == ("zombie", "load", True)
            await collect(lake, repository, 3)
            with pytest.raises((Refused, Gone)):
                await add_objects(repository, "main", entries, actor=ANN, closes=hold_ids("zombie"))
            with pytest.raises(Gone):
                await add_objects(repository, "main", entries, actor=ANN)
            assert await lake.rows("from logs") == [{"k": 1}]
            await repository.close()

    run(play())


def test_one_that_has_failed_or_is_named_is_abandoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            repository = await opened(lake)
            gc = Lake(Session(lake.lake, ANN)).repository("logs").gc
            _, mint = await repository.refs()
            for job in ("failed", "named", "unknown"):
                await open_job(repository, job, mint, actor=ANN)
            record = JobRecord(FORMAT, "failed", "load", "logs@main", "ann", "test", "here", "", 1, 1, FAILED)
            await repository.store.put(job_files.path_of("failed"), job_files.encode(record))
            assert [each.id for each in await gc.held_jobs()] == ["failed", "named", "unknown"]
            assert await gc.abandon_jobs() == []
            monkeypatch.setattr(dead_jobs, "ENDED_S", -1.0)
            assert [each.id for each in await gc.abandon_jobs()] == ["failed"]
            assert [each.id for each in await gc.abandon_jobs(["named"])] == ["named"]
            with pytest.raises(NotFound, match="no job 'named'"):
                await gc.abandon_jobs(["named"])
            monkeypatch.setattr(dead_jobs, "SILENT_S", -1.0)
            assert (await gc.run(0)).jobs == 1
            assert msgspec.to_builtins(await gc.held_jobs()) == []
            await repository.close()

    run(play())
