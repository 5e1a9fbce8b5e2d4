"""Answers Spark's catalog, which runs in the JVM: which tables exist, and what a scan of one reads.

A request is a line of JSON on standard input, its answer a line on standard output. The process ends with its input."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

from lochan.api.frames import SPARK_SCHEMA
from lochan.api.uri import Uri, prefix_uri
from lochan.connection import spark_lake
from lochan.errors import Invalid, LochanError, NotFound, NothingToDo, Refused, Unavailable

if TYPE_CHECKING:
    from lochan.api.blocking import Lake
    from lochan.api.frames import FileScanPlan, ScanPlan

Request = Mapping[str, Any]
Answer = dict[str, Any]
_KEY = "key"
_TABLES_MAX = 64
_SUFFIX = ".parquet"


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # other output must not be mixed with the answers
    serve(sys.stdin, answers)


def serve(requests: Iterable[str], answers: TextIO) -> None:
    """Answers requests. The first one names the lake. It is opened at the next one, and opened again after it could not
    be reached, because the configured keys may have been replaced."""
    tables: CatalogTables | None = None
    options: Mapping[str, str] = {}
    for line in requests:
        request = json.loads(line)
        if request["verb"] == "open":
            options = request["options"]
            continue
        try:
            tables = tables or CatalogTables.at(options)
            made = answer(tables, request)
        except LochanError as error:
            made = _refusal(error)
        json.dump(made, answers)
        answers.write("\n")
        answers.flush()
        if tables is not None and made.get("error", {}).get("kind") == Unavailable.__name__:
            tables.close()
            tables = None


def answer(tables: object, request: Request) -> Answer:
    """Returns the result of the method for the verb, or its error."""
    try:
        made: Answer = getattr(tables, f"on_{request['verb']}")(request)
    except LochanError as error:
        return _refusal(error)
    except Exception as error:  # a mistake of ours: the next request may be answered all the same
        traceback.print_exc()
        return {"error": {"kind": "Internal", "message": f"{type(error).__name__}: {error}"}}
    return made


def _refusal(error: LochanError) -> Answer:
    hint = f" ({error.hint})" if error.hint else ""
    return {"error": {"kind": type(error).__name__, "message": f"{error.message}{hint}"}}


class CatalogTables:
    """The tables of a lake. Pools are tables: `logs` is a pool's default branch, `logs@dev` another ref. A repository
    of files is a namespace, and its folders are tables."""

    def __init__(self, lake: Lake, options: Mapping[str, str]) -> None:
        self._lake = lake
        self._options = options
        self._plans: dict[str, ScanPlan | FileScanPlan] = {}  # by the table and its commit, the newest last

    @classmethod
    def at(cls, options: Mapping[str, str]) -> CatalogTables:
        store = {name: value for name, value in options.items() if name != "lake"}
        return cls(spark_lake(options.get("lake"), store).connect(), options)

    def close(self) -> None:
        self._lake.close()

    def on_tables(self, request: Request) -> Answer:
        if request["namespace"]:
            return {"tables": list(self._folders(_files_uri(request["namespace"], "")))}
        return {"tables": [each.name for each in self._lake.pools()]}

    def on_namespaces(self, request: Request) -> Answer:
        return {"namespaces": [each.name for each in self._lake.repositories() if each.pool is None]}

    def on_load(self, request: Request) -> Answer:
        uri = self._at_version(_uri(request), request)
        planned = self._lake.frames.scan(str(uri))
        at = str(uri._replace(ref=planned.commit))
        self._remember(at, planned)
        if uri.path:
            return {"uri": at, "target": str(uri), "schema": planned.schema_json, "key": [], "files": True}
        settings = self._lake.pool(uri.repository).show().pool
        return {
            "uri": at,
            "target": str(uri),
            "schema": planned.schema_json,
            "key": [each.partition(":")[0] for each in settings.keys] if settings else [],
            "files": False,
        }

    def on_plan(self, request: Request) -> Answer:
        known = self._plan(request["uri"]).kinds
        planned = self._lake.frames.scan(request["uri"], request["filters"], known=known)
        made = planned.as_json(request.get("metadata", ()))
        return {**made, "source_options": dict(self._options)} if "source" in made else made

    def on_create(self, request: Request) -> Answer:
        _no_files(request, "made by writing files: lochan.spark.write(frame, 'sales@main/2026/')")
        uri, properties = _uri(request), dict(request["properties"])
        provider = properties.pop("provider", "lochan")
        if provider not in ("lochan", "parquet"):  # Spark's default is the latter
            raise Refused(
                f"a table of a lake is of kind lochan, and not {provider}", hint="say USING lochan, or nothing"
            )
        key = properties.pop(_KEY, "") or _cluster_key(request["partitioning"])
        metadata = {name: value for name, value in properties.items() if name not in ("owner",)}
        self._lake.create_pool(
            uri.repository,
            key=[part.strip() for part in key.split(",") if part.strip()],
            metadata={**metadata, SPARK_SCHEMA: request["schema"]},
        )
        return {}

    def on_drop(self, request: Request) -> Answer:
        self._lake.pool(_name(request)).delete()
        return {}

    def on_rename(self, request: Request) -> Answer:
        self._lake.pool(_name(request)).rename(request["to"])
        return {}

    def on_where(self, request: Request) -> Answer:
        return {"where": self._plan(request["at"]).where(request["filters"])}

    def on_can_delete(self, request: Request) -> Answer:
        return {"exact": self._plan(request["at"]).where(request["filters"]) is not None}

    def on_delete(self, request: Request) -> Answer:
        uri, where = prefix_uri(request["uri"]), self._plan(request["at"]).where(request["filters"])
        if where is None:
            raise Refused("these rows cannot be deleted by this test", hint="compare columns of one kind with values")
        with suppress(NothingToDo):
            self._lake.pool(uri.repository).delete_rows(where, branch=uri.ref)
        return {}

    def _at_version(self, uri: Uri, request: Request) -> Uri:
        """Returns the place at a version. VERSION AS OF is a ref, and TIMESTAMP AS OF a moment of the branch."""
        if version := request.get("version"):
            return uri._replace(ref=str(version))
        if (moment := request.get("timestamp_us")) is None:
            return uri
        branch = uri.ref or self._lake.repository(uri.repository).show().default_branch
        return uri._replace(ref=f"{branch}@{{{_text(moment)}}}")

    def _folders(self, uri: Uri) -> Iterator[str]:
        """Yields the first part of the paths that are tables. A folder may hold no Parquet file; only reading footers
        would show that."""
        repository = self._lake.repository(uri.repository)
        ref = repository.ref(uri.ref or repository.show().default_branch)
        for page in ref.list_pages(delimiter="/"):
            yield from (each.removesuffix("/") for each in page.prefixes)
            yield from (each.path for each in page.objects if each.path.endswith(_SUFFIX))

    def _plan(self, at: str) -> ScanPlan | FileScanPlan:
        if at not in self._plans:
            self._remember(at, self._lake.frames.scan(at))
        return self._plans[at]

    def _remember(self, at: str, plan: ScanPlan | FileScanPlan) -> None:
        self._plans[at] = plan
        while len(self._plans) > _TABLES_MAX:
            del self._plans[next(iter(self._plans))]


def _cluster_key(partitioning: Sequence[str]) -> str:
    """Returns the key that CLUSTER BY names. A pool has no partitions."""
    names = []
    for each in partitioning:
        if not each.startswith("cluster_by("):
            raise Refused(
                "a pool is sorted by a key and has no partitions",
                hint="say CLUSTER BY (ts), or TBLPROPERTIES ('key' = 'ts')",
            )
        names.append(each.removeprefix("cluster_by(").removesuffix(")"))
    return ", ".join(names)


def _name(request: Request) -> str:
    _no_files(request, "neither dropped nor renamed from Spark: use `lochan fs rm REPO/PATH`")
    uri = _uri(request)
    if uri.ref:
        raise Refused(f"{request['name']} names a ref of a table", hint="a table is dropped or renamed by its own name")
    return uri.repository


def _no_files(request: Request, sentence: str) -> None:
    if request["namespace"]:
        raise Refused(f"a table of files is {sentence}")


def _uri(request: Request) -> Uri:
    if request["namespace"]:
        return _files_uri(request["namespace"], request["name"])
    if "/" in request["name"]:
        raise Invalid(
            f"{request['name']!r} is a path of files",
            hint="a repository of files is a namespace: lake.sales.`2026/`",
        )
    return prefix_uri(request["name"])


def _files_uri(namespace: Sequence[str], name: str) -> Uri:
    """Returns the URI of `sales` or `sales@dev`, and a folder or a Parquet file in it."""
    if len(namespace) > 1:
        raise NotFound(f"there is no namespace {'.'.join(namespace)} in a lake", hint="a folder is a name: `a/b`")
    uri = prefix_uri(namespace[0])
    path = name if not name or name.endswith(("/", _SUFFIX)) else f"{name}/"
    return uri._replace(path=path)


def _text(moment_us: int) -> str:
    from datetime import UTC, datetime, timedelta

    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=moment_us)).isoformat().replace("+00:00", "Z")


if __name__ == "__main__":
    main()
