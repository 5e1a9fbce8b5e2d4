"""`lochan load` on Spark: what is told, what is recorded, and what is shown meanwhile."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lochan.cli.error_boundary import print_message
from lochan.cli.hints import about_repository
from lochan.cli.pool.load import LoadRequest, existing, new_pool, settings_of_new
from lochan.cli.pool.load_sources import Source, Stream
from lochan.errors import Refused

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lochan.engines.duckdb.load.load import Loaded
    from lochan.engines.spark.place import SparkPlace
    from lochan.formats.record import Actor
    from lochan.jobs.load.files import File
    from lochan.jobs.record import JobRun
    from lochan.lake import Lake
    from lochan.versioning.open_repository import OpenRepository


async def load_on_spark(lake: "Lake", found: Sequence[Source], request: LoadRequest, place: "SparkPlace") -> "Loaded":
    """Raises what keeps Spark from running before anything is made. A pool that is not there has its name once its rows
    have landed."""
    import asyncio

    from lochan.engines.spark.session import session_at
    from lochan.jobs.record import recorded

    files = _files(found)
    pool = await existing(lake, request)
    settings = None if pool is not None else await settings_of_new(lake, files[0].as_input(), request)
    if pool is not None:
        before = await _loaded_before(lake, pool.name, request.by)
        if before is not None:
            return before
    spark = await asyncio.to_thread(session_at, place, request.how.limits)
    branch = request.uri.ref or (pool.default_branch if pool is not None else "main")
    about = f"{request.uri.repository}@{branch}"
    with recorded(lake, "load", about, actor=request.by, where=place.where) as run:
        if settings is None:
            repository = await lake.open_repository(request.uri.repository)
            about_repository(request.uri.repository)
            try:
                return await _load(lake, repository, branch, files, request, spark, run)
            finally:
                await repository.close()
        async with new_pool(lake, settings[0], request) as repository:
            loaded = await _load(lake, repository, branch, files, request, spark, run)
    print_message(settings[1])
    return loaded


async def _loaded_before(lake: "Lake", pool: str, actor: "Actor") -> "Loaded | None":
    """By the same request: then no Spark is started."""
    from lochan.engines.duckdb.load.load import loaded_first
    from lochan.journal.request_key import CarriedOut
    from lochan.versioning.once import check_first

    repository = await lake.open_repository(pool)
    try:
        await check_first(repository, actor)
    except CarriedOut as before:
        return await loaded_first(repository, before)
    finally:
        await repository.close()
    return None


def _files(found: Sequence[Source]) -> "list[File]":
    for each in found:
        if isinstance(each, Stream):
            raise Refused("Spark cannot read standard input", hint="save it as a file, or take --engine duckdb")
    return [each for each in found if not isinstance(each, Stream)]


async def _load(
    lake: "Lake",
    repository: "OpenRepository",
    branch: str,
    files: "list[File]",
    request: LoadRequest,
    spark: "SparkSession",
    run: "JobRun",
) -> "Loaded":
    from lochan.cli.output.progress import StageBar
    from lochan.engines.spark.telling import listener_of
    from lochan.jobs.load.load import Where, load_files

    with StageBar("load", wanted=request.wants_progress) as bar:
        about = f"load of {repository.repository.name}"
        where = Where(spark, listener_of(run, bar.show), f"lochan-{run.id}", about, run.wrote)
        run.log(f"{len(files):,} files, {sum(each.size for each in files):,} bytes")
        loaded = await load_files(
            repository, lake.place, branch, files, request.words, actor=request.by, where=where, how=request.how
        )
        run.rows(loaded.rows)
        return loaded
