"""`lochan load` on Spark: what is told, what is recorded, and what is shown meanwhile."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lochan.cli.boundary import say
from lochan.cli.load import Wish, existing, settings_of_new
from lochan.cli.load_sources import Source, Stream
from lochan.errors import Refused

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lochan.engines.duckdb.load.load import Loaded
    from lochan.engines.spark.place import SparkPlace
    from lochan.jobs.load.files import File
    from lochan.lake import Lake
    from lochan.versioning.repositories import Repository


async def load_on_spark(lake: "Lake", found: Sequence[Source], wish: Wish, place: "SparkPlace") -> "Loaded":
    """Raises what keeps Spark from running before anything is made."""
    import asyncio

    from lochan.engines.spark.session import session_at

    files = _files(found)
    pool = await existing(lake, wish)
    settings = None if pool is not None else await settings_of_new(files[0].as_input(), wish)
    spark = await asyncio.to_thread(session_at, place, wish.how.limits)
    if pool is None:
        assert settings is not None
        branch = wish.uri.ref or "main"
        pool = await lake.create_pool(wish.uri.repository, settings[0], default_branch=branch, actor=wish.by)
        say(settings[1])
    return await _load(lake, pool, files, wish, place, spark)


def _files(found: Sequence[Source]) -> "list[File]":
    for each in found:
        if isinstance(each, Stream):
            raise Refused("Spark cannot read standard input", hint="save it as a file, or take --engine duckdb")
    return [each for each in found if not isinstance(each, Stream)]


async def _load(
    lake: "Lake", pool: "Repository", files: "list[File]", wish: Wish, place: "SparkPlace", spark: "SparkSession"
) -> "Loaded":
    from lochan.cli.progress import StageBar
    from lochan.engines.spark.telling import listener_of
    from lochan.jobs.load.load import Where, load_files
    from lochan.jobs.record import recorded

    branch = wish.uri.ref or pool.default_branch
    repository = await lake.open_repository(pool.name)
    try:
        with (
            recorded(lake, "load", f"{pool.name}@{branch}", actor=wish.by, where=place.where) as run,
            StageBar("load", wanted=wish.wants_progress) as bar,
        ):
            where = Where(spark, listener_of(run, bar.show), f"lochan-{run.id}", f"load of {pool.name}")
            run.log(f"{len(files):,} files, {sum(each.size for each in files):,} bytes")
            loaded = await load_files(
                repository, lake.place, branch, files, wish.words, actor=wish.by, where=where, how=wish.how
            )
            run.rows(loaded.rows)
            return loaded
    finally:
        await repository.close()
