"""Runs a plan on DuckDB: its rows are Arrow batches, produced on demand. Closing the run frees its resources."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
from sqlglot import exp

from lochan.engines.duckdb.files import Files, PlacedObject, gone_error
from lochan.engines.duckdb.instances import Instances
from lochan.engines.duckdb.limits import STANDARD, Limits, in_time
from lochan.engines.duckdb.session import DuckSession
from lochan.errors import LochanError
from lochan.pools.kinds import ARRAY, INT
from lochan.pools.layout import SHAPE_COLUMN
from lochan.pools.shape import Type
from lochan.pools.snapshot import DataObject, Snapshot
from lochan.query.compile.sql import sql_type
from lochan.query.dialects import render
from lochan.query.prepare import Prepared
from lochan.query.sources.pool import PRESORTED
from lochan.query.sources.resolve import CheckPaths
from lochan.query.sources.scans import FileScan, Scans
from lochan.store.scratch import make_folder
from lochan.versioning.open_repository import OpenRepository

_LITTLE_ROWS = 20_000


class WorkFolders:
    """Folders for files that one query makes for itself. They are created on demand, and removed by `close`."""

    def __init__(self) -> None:
        self.folders: list[str] = []

    def folder(self) -> str:
        """Creates a new folder."""
        self.folders.append(make_folder())
        return self.folders[-1]

    def close(self) -> None:
        """Removes the folders. Calling it again does nothing."""
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)

    def reader(self, limits: Limits) -> Callable[[OpenRepository, str, str, CheckPaths], Awaitable[Snapshot]]:
        """Returns a function that reads files of a repository into a new folder."""

        async def read(repository: OpenRepository, ref: str, glob: str, check: CheckPaths) -> Snapshot:
            from lochan.engines.duckdb.repository_files import read_files

            return await read_files(repository, ref, glob, self.folder(), limits, check)

        return read


@dataclass
class Run:
    """A query that runs on DuckDB. `batches` can be iterated once."""

    session: DuckSession
    work: WorkFolders
    sql: str
    batches: Iterator[pa.RecordBatch]
    missing: Sequence[DataObject] = field(default_factory=list)  # objects that are gone

    def cancel(self) -> None:
        """Cancels the run. May be called from any thread. Reading the rows then raises Cancelled."""
        self.session.cancel()

    def close(self) -> None:
        """Frees the resources. Calling it again does nothing."""
        self.session.close()
        self.work.close()


async def start(
    prepared: Prepared,
    files: Files,
    work: WorkFolders,
    limits: Limits = STANDARD,
    *,
    go_on: bool = False,
    instances: Instances | None = None,
) -> Run:
    """Starts a run. Raises Gone if a data object is gone, unless `go_on`; Corrupt."""
    scans = prepared.opening.scans
    folders = [*files.folders, *work.folders]
    alone = limits.threads is None and _is_little(scans)
    session = DuckSession(limits, folders=folders, instances=instances, alone=alone)
    try:
        async with in_time(limits):
            paths, missing = await place_files(prepared, files, session.folder, go_on=go_on)
        sql = duckdb_sql(prepared, paths)
        for name, table in scans.tables.items():
            session.register(name, table)
        placed = placed_objects(scans, paths, missing)
        return Run(session, work, sql, _stream(session, sql, partial(files.failure, placed)), missing)
    except BaseException:
        session.close()
        raise


def _is_little(scans: Scans) -> bool:
    """Returns whether threads would take longer to start than there is work for them. DuckDB gives a thread 122,880
    rows of a file at a time; some are left for joins, which make many rows of few."""
    counts = [each.rows for scan in scans.files.values() for each in scan.objects]
    all_counted = all(counts)  # the rows of files that are not in the lake are not counted
    return all_counted and sum(counts) + sum(each.num_rows for each in scans.tables.values()) <= _LITTLE_ROWS


def duckdb_sql(prepared: Prepared, paths: Mapping[str, Sequence[str]]) -> str:
    return render(with_files(prepared.plan.query.copy(), prepared.opening.scans, paths), "duckdb", copy=False)


async def place_files(
    prepared: Prepared, files: Files, work: str, *, go_on: bool
) -> tuple[dict[str, list[str]], list[DataObject]]:
    """Returns the paths of every scan's files, and the objects that are gone. If the rows are loaded into a pool, all
    files are checked again, so that no damage is copied."""
    recheck = prepared.plan.load is not None
    placed: dict[str, list[str]] = {}
    missing: list[DataObject] = []
    scans = prepared.opening.scans
    for name in scan_names(prepared.plan.query, scans):
        scan = scans.files[name]
        paths = await _paths(scan, files, work, recheck=recheck)
        missing += [each for each, path in zip(scan.objects, paths, strict=True) if not path]
        placed[name] = [path for path in paths if path]
    if missing and not go_on:
        raise gone_error(missing[0])
    return placed, missing


async def _paths(scan: FileScan, files: Files, work: str, *, recheck: bool) -> list[str]:
    """Returns the paths of a scan's objects. The address of an object that the query made for itself is its path."""
    if scan.objects and scan.objects[0].address.startswith("/"):
        return [each.address for each in scan.objects]
    return await files.place(scan.objects, work, recheck=recheck)


def placed_objects(
    scans: Scans, paths: Mapping[str, Sequence[str]], missing: Sequence[DataObject]
) -> list[PlacedObject]:
    """Returns the result of `place_files`, without objects that the query made for itself."""
    placed: list[PlacedObject] = []
    for name, there in paths.items():
        objects = [each for each in scans.files[name].objects if each not in missing]
        placed += map(PlacedObject, objects, there)
    return [each for each in placed if each.object.sha256]


def _stream(session: DuckSession, sql: str, why: Callable[[], LochanError | None]) -> Iterator[pa.RecordBatch]:
    """Streams the rows. Replaces an error of the engine by that of an object that is gone or damaged, which `why`
    returns."""

    def explained(error: Exception) -> Exception:
        return error if isinstance(error, LochanError) else why() or error

    try:
        batches = session.stream(sql)
    except Exception as error:
        raise explained(error) from error

    def all() -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except Exception as error:
            raise explained(error) from error

    return all()


# --- the plan's SQL, with files in the place of scans ----------------------------------------------------------------
def with_files(query: exp.Query, scans: Scans, paths: Mapping[str, Sequence[str]], *, some: bool = False) -> exp.Query:
    """Replaces the names of scans by their files, in `paths`. Leaves out an order that the files already have. With
    `some`, these are not all files of their scan, and may lack columns that only others have."""
    for part in list(query.find_all(exp.Table, exp.Order)):
        if isinstance(part, exp.Order):
            if part.meta.get(PRESORTED) and part.parent is not None:
                part.parent.set("order", None)
        elif (scan := scans.files.get(part.name)) is not None:
            part.replace(_files(part.name, paths[part.name], scan, some=some))
    return query


def scan_names(query: exp.Query, scans: Scans) -> list[str]:
    """Returns the names of the scans that the query reads."""
    return [table.name for table in query.find_all(exp.Table) if table.name in scans.files]


def _files(name: str, paths: Sequence[str], scan: FileScan, *, some: bool) -> exp.Expression:
    alias = exp.to_identifier(name, quoted=True)
    if not paths:
        return _nothing(scan).subquery(alias)
    if scan.uniform or not some:
        return _read(name, paths, scan)
    there = exp.select("*").from_(_read(name, paths, scan))
    return exp.Union(this=there, expression=_nothing(scan), distinct=False, by_name=True).subquery(alias)


def _nothing(scan: FileScan) -> exp.Select:
    """Returns a query without rows, with all columns."""
    types = {SHAPE_COLUMN: INT, **scan.columns}
    made = [exp.Cast(this=exp.Null(), to=_type(type)).as_(column, quoted=True) for column, type in types.items()]
    return exp.select(*made).where(exp.false())


def _read(name: str, paths: Sequence[str], scan: FileScan) -> exp.Expression:
    listed = exp.Array(expressions=[exp.Literal.string(path) for path in paths])
    union = [] if scan.uniform else [exp.PropertyEQ(this=exp.to_identifier("union_by_name"), expression=exp.true())]
    read = exp.Table(this=exp.Anonymous(this="READ_PARQUET", expressions=[listed, *union]))
    alias = exp.to_identifier(name, quoted=True)
    if scan.with_gaps:
        return exp.select(_whole(scan.with_gaps), copy=False).from_(read, copy=False).subquery(alias)
    read.set("alias", exp.TableAlias(this=alias))
    return read


def _whole(columns: Collection[str]) -> exp.Star:
    """Returns all columns, with these read completely. If DuckDB reads only `a.b.c`, it fails with an internal error at
    a file that has `a` but no `b`. It does not optimize through a CASE."""
    there = exp.column(SHAPE_COLUMN, quoted=True).is_(exp.null()).not_()
    made = [exp.Case().when(there, exp.column(name, quoted=True)).as_(name, quoted=True) for name in sorted(columns)]
    return exp.Star(replace=made)


def _type(type: Type) -> exp.DataType:
    element: exp.DataType = sql_type(ARRAY, type).expressions[0]
    return element
