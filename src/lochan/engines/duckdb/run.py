"""Runs a plan: its rows come as Arrow batches while they are asked for, and what it used is free when it is closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from lochan.engines.duckdb.files import Files, gone
from lochan.engines.duckdb.instances import Instances
from lochan.engines.duckdb.limits import STANDARD, Limits, in_time
from lochan.engines.duckdb.object_check import PlacedObject
from lochan.engines.duckdb.scan import used, with_files
from lochan.engines.duckdb.session import DuckSession
from lochan.engines.duckdb.work_folder import Workplace
from lochan.errors import LochanError
from lochan.pools.snapshot import DataObject
from lochan.query.dialects import render
from lochan.query.prepare import Prepared
from lochan.query.sources.scans import FileScan, Scans


@dataclass
class Run:
    """`batches` can be gone through once."""

    session: DuckSession
    work: Workplace
    sql: str
    batches: Iterator[pa.RecordBatch]
    missing: Sequence[DataObject] = field(default_factory=list)  # that the rows lack

    def cancel(self) -> None:
        """From any thread: whoever reads the rows gets Cancelled."""
        self.session.cancel()

    def close(self) -> None:
        """May be called twice."""
        self.session.close()
        self.work.close()


async def start(
    prepared: Prepared,
    files: Files,
    work: Workplace,
    limits: Limits = STANDARD,
    *,
    go_on: bool = False,
    instances: Instances | None = None,
) -> Run:
    """Raises Gone where a data object is not there any more, unless told to go on without it; Corrupt."""
    scans = prepared.opening.scans
    session = DuckSession(limits, folders=[*files.folders, *work.folders], instances=instances)
    try:
        async with in_time(limits):
            paths, missing = await place_files(prepared, files, session.folder, go_on=go_on)
        sql = duckdb_sql(prepared, paths)
        for name, table in scans.tables.items():
            session.connection.register(name, table)
        placed = placed_objects(scans, paths, missing)
        return Run(session, work, sql, _streamed(session, sql, partial(files.failure, placed)), missing)
    except BaseException:
        session.close()
        raise


def duckdb_sql(prepared: Prepared, paths: Mapping[str, Sequence[str]]) -> str:
    return render(with_files(prepared.plan.query.copy(), prepared.opening.scans, paths), "duckdb")


async def place_files(
    prepared: Prepared, files: Files, work: str, *, go_on: bool
) -> tuple[dict[str, list[str]], list[DataObject]]:
    """The paths of every scan's files, and the objects that are gone. Those of a query whose rows are loaded into a
    pool are checked, whatever was found out before: no damage is copied."""
    recheck = prepared.plan.load is not None
    placed: dict[str, list[str]] = {}
    missing: list[DataObject] = []
    scans = prepared.opening.scans
    for name in used(prepared.plan.query, scans):
        scan = scans.files[name]
        paths = await _paths(scan, files, work, recheck=recheck)
        missing += [each for each, path in zip(scan.objects, paths, strict=True) if not path]
        placed[name] = [path for path in paths if path]
    if missing and not go_on:
        raise gone(missing[0])
    return placed, missing


async def _paths(scan: FileScan, files: Files, work: str, *, recheck: bool) -> list[str]:
    """An object that the query made for itself has its path for an address."""
    if scan.objects and scan.objects[0].address.startswith("/"):
        return [each.address for each in scan.objects]
    return await files.place(scan.objects, work, recheck=recheck)


def placed_objects(
    scans: Scans, paths: Mapping[str, Sequence[str]], missing: Sequence[DataObject]
) -> list[PlacedObject]:
    """What `place_files` has placed; without objects that the query made for itself."""
    placed: list[PlacedObject] = []
    for name, there in paths.items():
        objects = [each for each in scans.files[name].objects if each not in missing]
        placed += map(PlacedObject, objects, there)
    return [each for each in placed if each.object.sha256]


def _streamed(session: DuckSession, sql: str, why: Callable[[], LochanError | None]) -> Iterator[pa.RecordBatch]:
    """An engine's error while it reads is the objects' if one of them is gone, or damaged: `why` tells."""

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
