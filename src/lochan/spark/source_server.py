"""Answers the part of the data source that runs in the JVM: the columns of a pool, what a scan of it reads, and whether
a write can begin.

Requests and answers are those of `catalog_server`, a line of JSON each. Lakes stay open from one request to the
next."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from lochan.errors import LochanError
from lochan.spark.catalog_server import Answer, Request, answer
from lochan.spark.source_options import (
    address_in,
    check_read,
    is_feed,
    names_in,
    path_in,
    small,
    uri_at,
    write_request,
)

if TYPE_CHECKING:
    from lochan.api.blocking import Lake
    from lochan.api.frames import SourceScan

_LAKES_MAX, _SCANS_MAX = 8, 64
_TRAVEL = ("versionasof", "timestampasof")

T = TypeVar("T")


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # other output must not be mixed with the answers
    serve(sys.stdin, answers)


def serve(requests: TextIO, answers: TextIO) -> None:
    source = SourcePlans()
    for line in requests:
        request = json.loads(line)
        if request["verb"] == "open":  # of a process that has one lake
            continue
        json.dump(answer(source, request), answers)
        answers.write("\n")
        answers.flush()


class SourcePlans:
    """Answers requests of the source. `pinned` are the options with the commit in the path, so that a frame stays
    there. Without them either Spark itself cannot read the lake, or it is the change feed, and the Python source reads
    it."""

    def __init__(self) -> None:
        self._lakes: dict[str, Lake] = {}
        self._scans: dict[str, SourceScan] = {}

    def on_load(self, request: Request) -> Answer:
        options = request["options"]
        if is_feed(options):
            return {}
        check_read(options)
        if not _is_read_by_spark(request):
            return {}
        lake = self._lake(options)
        uri = uri_at(lake, options)
        scan = _scan(lake, uri, options, None)
        found = {"schema": scan.schema_json, **_pin(options, uri, scan.plan.commit)}
        self._scans_of(found["pinned"], None, lambda: scan)
        return found

    def on_pin(self, request: Request) -> Answer:
        """Answers for a frame that may never be read, so errors do not matter yet."""
        options = request["options"]
        try:
            if is_feed(options) or not _is_read_by_spark(request):
                return {}
            lake = self._lake(options)
            uri = uri_at(lake, options)
            return _pin(options, uri, _commit(lake, uri))
        except LochanError:
            return {"pinned": options}

    def on_plan(self, request: Request) -> Answer:
        options, schema = request["options"], request.get("schema")
        lake = self._lake(options)

        def scanned() -> SourceScan:
            check_read(options)
            return _scan(lake, path_in(options), options, schema)

        return lake.frames.prune(self._scans_of(options, schema, scanned), request["filters"]).as_json()

    def on_check_write(self, request: Request) -> Answer:
        """Checks a write before any task runs. Raises its errors, and returns whether there is nothing to do."""
        options = request["options"]
        uri, mode, expect, rows = write_request(options, None, overwrite=request["overwrite"])
        begun = self._lake(options).frames.write(uri, mode=mode, expect=expect, rows=rows, trial=True)
        return {"done": begun.before is not None}

    def _scans_of(self, options: Mapping[str, str], schema: str | None, make: Callable[[], SourceScan]) -> SourceScan:
        return _keep(self._scans, json.dumps([sorted(options.items()), schema]), make, _SCANS_MAX)

    def _lake(self, options: Mapping[str, str]) -> Lake:
        address = address_in(options)
        key = json.dumps([address.location.url, sorted((address.options or {}).items())])
        return _keep(self._lakes, key, address.connect, _LAKES_MAX, lambda lake: lake.close())


def _is_read_by_spark(request: Request) -> bool:
    """Returns whether the lake is on a store that this Spark has a file system for."""
    scheme, remote, _ = address_in(request["options"]).location.url.partition("://")
    return not remote or scheme == "file" or (scheme == "s3" and bool(request["s3a"]))


def _commit(lake: Lake, uri: str) -> str:
    from lochan.api.uri import prefix_uri

    at = prefix_uri(uri)
    return lake.repository(at.repository).ref(at.ref).resolve().id


def _scan(lake: Lake, uri: str, options: Mapping[str, str], schema: str | None) -> SourceScan:
    from pyspark.sql.types import StructType

    given = small(options)
    scan: SourceScan = lake.frames.source_scan(
        uri,
        where=given.get("where", ""),
        columns=names_in(given.get("columns", "")),
        low=given.get("from"),
        high=given.get("to"),
        own=None if schema is None else StructType.fromJson(json.loads(schema)),
    )
    return scan


def _pin(options: Mapping[str, str], uri: str, commit: str) -> Answer:
    from lochan.api.uri import prefix_uri

    at = str(prefix_uri(uri)._replace(ref=commit))
    rest = {name: value for name, value in options.items() if name.lower() not in (*_TRAVEL, "path")}
    return {"pinned": {**rest, "path": at}}


def _keep(
    cache: dict[str, T], key: str, make: Callable[[], T], count_max: int, drop: Callable[[T], Any] = lambda _: None
) -> T:
    """Returns the cached value, which becomes the newest. The oldest one is dropped if there are too many."""
    found = cache.pop(key) if key in cache else make()
    cache[key] = found
    while len(cache) > count_max:
        drop(cache.pop(next(iter(cache))))
    return found


if __name__ == "__main__":
    main()
