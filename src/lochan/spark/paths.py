"""Where Spark finds the files of the lake's store by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from lochan.engines.duckdb.files import gone
from lochan.engines.spark import s3a
from lochan.errors import Refused
from lochan.query.sources.snapshot import DataObject
from lochan.store.place import StorePlace

_NONE: Mapping[str, str] = {}


def local_root(place: StorePlace) -> str | None:
    """The folder of a lake that is one."""
    scheme, found, rest = place.url.partition("://")
    if not found:
        return place.url
    return unquote(rest) if scheme == "file" else None


def path_at(place: StorePlace, address: str) -> str:
    """Raises Refused for a store that Spark cannot read."""
    root = local_root(place)
    if root is not None:
        return f"{root}/{address}"
    if not s3a.is_bucket(place):
        scheme = place.url.partition(":")[0]
        raise Refused(f"Spark reads no files of a lake at {scheme}://", hint="read it by the data source `lochan`")
    return s3a.path_of(place, address)


def hadoop_options(place: StorePlace) -> Mapping[str, str]:
    """What Hadoop must know to read them."""
    return s3a.options_of(place) if s3a.is_bucket(place) else _NONE


def object_paths(place: StorePlace, objects: Sequence[DataObject]) -> list[str]:
    """Raises Gone, where that shows at a glance."""
    paths = [path_at(place, each.address) for each in objects]
    if local_root(place) is not None:
        lost = next((each for each, path in zip(objects, paths, strict=True) if not Path(path).exists()), None)
        if lost is not None:
            raise gone(lost)
    return paths
