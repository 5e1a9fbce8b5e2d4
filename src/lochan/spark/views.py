"""Every pool as a table of Spark's SQL: `select … from logs_main`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lochan.errors import Refused
from lochan.lake import Lake
from lochan.spark.frames import check_plan, framed
from lochan.spark.lakes import LakePlace, found_lake, on_lake
from lochan.spark.read_plan import ReadPlan, ReadRequest, plan
from lochan.versioning.repositories import POOL
from lochan.versioning.uri import Uri

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OTHER = re.compile(r"[^a-z0-9_]", re.IGNORECASE)


def register_views(
    spark: SparkSession,
    lake: str | os.PathLike[str] | None = None,
    *,
    options: Mapping[str, str] | None = None,
    check: bool = True,
) -> dict[str, str]:
    """A temporary view for each branch of each pool, `pool_branch`, at the commit of this moment: called again, they
    are there anew. Returns what each stands for. Pools whose rows make no table are left out, and so is a name that two
    branches would have.

    Every data object of the lake that was not checked before is read, to compare it with its SHA-256, unless `check`
    is False: then damage may go unnoticed. Raises Gone, Corrupt."""
    place = found_lake(lake, options)
    views: dict[str, list[tuple[Uri, ReadPlan]]] = {}
    for uri, planned in on_lake(place, lambda lake: _planned(spark, lake, place, check=check)):
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


async def _planned(spark: SparkSession, lake: Lake, place: LakePlace, *, check: bool) -> list[tuple[Uri, ReadPlan]]:
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
                planned = await plan(lake, ReadRequest(uri))
            except Refused:  # rows that make no table
                continue
            if check:
                await check_plan(spark, lake, place, planned)
            found.append((uri, planned))
    return found
