"""Where Spark finds the files of the lake's store by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

from lochan.engines.duckdb.files import ObjectCheck, PlacedObject, StoredObject, gone_error
from lochan.engines.spark import s3a
from lochan.engines.spark.bucket_check import BucketCheck
from lochan.errors import Refused
from lochan.lake import Lake
from lochan.store.open import StoreLocation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NONE: Mapping[str, str] = {}


def local_root(place: StoreLocation) -> str | None:
    """The folder of a lake that is one."""
    scheme, found, rest = place.url.partition("://")
    if not found:
        return place.url
    return unquote(rest) if scheme == "file" else None


def path_at(place: StoreLocation, address: str) -> str:
    """Raises Refused for a store that Spark cannot read."""
    root = local_root(place)
    if root is not None:
        return f"{root}/{address}"
    if not s3a.is_bucket(place):
        scheme = place.url.partition(":")[0]
        raise Refused(f"Spark reads no files of a lake at {scheme}://", hint="read it by the data source `lochan`")
    return s3a.path_of(place, address)


def hadoop_options(place: StoreLocation) -> Mapping[str, str]:
    """What Hadoop must know to read them."""
    return s3a.options_of(place) if s3a.is_bucket(place) else _NONE


async def check_objects(spark: SparkSession, lake: Lake, place: StoreLocation, objects: Sequence[StoredObject]) -> None:
    """Before Spark reads them by itself, from a store that it can read. Raises Gone, Corrupt."""
    root = local_root(place)
    if root is not None:
        check = ObjectCheck(lake.verified)
        found = await check.check([PlacedObject(each, f"{root}/{each.address}") for each in objects])
        there = [bool(path) for path in found]
    else:
        tasks = None if _runs_here(spark) else spark
        there = await BucketCheck(place, lake.store, lake.verified, tasks).check(objects)
    for each, is_there in zip(objects, there, strict=True):
        if not is_there:
            raise gone_error(each)


def _runs_here(spark: SparkSession) -> bool:
    return (spark.conf.get("spark.master", "") or "").partition("[")[0] == "local"
