"""How Spark gets at data objects: where they lie, if all of its machines see that; else by a copy on this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lochan.engines.duckdb.files import Files, PlacedObject
from lochan.engines.duckdb.run import WorkFolders
from lochan.engines.spark import s3a
from lochan.engines.spark.bucket_check import BucketCheck
from lochan.engines.spark.place import SparkPlace
from lochan.errors import LochanError, Refused
from lochan.pools.snapshot import DataObject
from lochan.store.open import StoreLocation
from lochan.store.protocol import Store
from lochan.store.verified_files import VerifiedFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Bucket:
    """Objects are read from it by whoever needs them: not a row comes by this machine."""

    folders: list[str] = []  # noqa: RUF012

    def __init__(self, place: StoreLocation, check: BucketCheck) -> None:
        self._place = place
        self._check = check
        self.options = s3a.options_of(place)

    async def place(self, objects: Sequence[DataObject], work: str, *, recheck: bool = False) -> list[str]:
        found = await self._check.check(objects, recheck=recheck)
        paths = [s3a.path_of(self._place, each.address) for each in objects]
        return [path if is_there else "" for path, is_there in zip(paths, found, strict=True)]

    def failure(self, placed: Sequence[PlacedObject]) -> LochanError | None:
        return self._check.failure([each.object for each in placed])


def check_reach(files: Files, work: WorkFolders, spark: SparkPlace, lake: StoreLocation) -> None:
    """Before a JVM is started. Raises Refused for what would have to be copied to machines that are not this one."""
    if spark.is_here or (not work.folders and (files.folders or s3a.is_bucket(lake))):
        return
    what = "files of a repository" if work.folders else f"a lake at {lake.url.partition(':')[0]}://"
    raise Refused(
        f"Spark on {spark.remote or spark.master} cannot read {what}: it is copied to this machine first",
        hint="run it on duckdb, or with --master local[*]",
    )


def files_for(
    spark: SparkSession, files: Files, where: SparkPlace, lake: StoreLocation, store: Store, verified: VerifiedFiles
) -> Files:
    """Copies, where Spark runs here and has no S3A."""
    if files.folders or not s3a.is_bucket(lake):
        return files
    if s3a.has_s3a(spark):
        return Bucket(lake, BucketCheck(lake, store, verified, None if where.is_here else spark))
    if where.is_here:
        return files
    raise Refused(
        f"Spark on {where.master} has no S3A, and cannot read {lake.url}",
        hint=f"give it the package {s3a.package()}, by spark.jars.packages in spark-defaults.conf",
    )
