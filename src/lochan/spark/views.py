"""Every pool as a table of Spark's SQL: `select … from logs_main`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lochan.errors import Refused
from lochan.lake import Lake
from lochan.spark.frames import framed
from lochan.spark.lakes import found_lake, on_lake
from lochan.spark.planned import Planned, Wanted, plan
from lochan.versioning.repositories import POOL
from lochan.versioning.uri import Uri

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OTHER = re.compile(r"[^a-z0-9_]", re.IGNORECASE)


def register_views(
    spark: SparkSession, lake: str | os.PathLike[str] | None = None, *, options: Mapping[str, str] | None = None
) -> dict[str, str]:
    """A temporary view for each branch of each pool, `pool_branch`, at the commit of this moment: called again, they
    are there anew. Returns what each stands for. Pools whose rows make no table are left out, and so is a name that two
    branches would have."""
    place = found_lake(lake, options)
    views: dict[str, list[tuple[Uri, Planned]]] = {}
    for uri, planned in on_lake(place, _planned):
        views.setdefault(view_name(uri), []).append((uri, planned))
    made = {}
    for name, [(uri, planned), *others] in views.items():
        if not others:
            framed(spark, place, planned).createOrReplaceTempView(name)
            made[name] = str(uri)
    return made


def view_name(uri: Uri) -> str:
    """What SQL takes without quotes."""
    return _OTHER.sub("_", f"{uri.repository}_{uri.ref}")


async def _planned(lake: Lake) -> list[tuple[Uri, Planned]]:
    found = []
    for about in await lake.repositories():
        if about.kind != POOL:
            continue
        repository = await lake.open_repository(about.name)
        try:
            branches = [branch.name for branch in (await repository.refs())[0].branches()]
        finally:
            await repository.close()
        for branch in branches:
            uri = Uri(about.name, branch, "")
            try:
                found.append((uri, await plan(lake, Wanted(uri))))
            except Refused:  # rows that make no table
                continue
    return found
