"""Exports objects of a ref as plain files elsewhere, in this process or by tasks of Spark. Each task opens the lake
itself, and does for its span of the paths what one process does for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lochan.api.results import Result
from lochan.errors import Invalid, LochanError, Refused

if TYPE_CHECKING:
    from lochan.api.options import EngineOptions
    from lochan.api.session import Session
    from lochan.lake import Lake
    from lochan.store.open import StoreLocation
    from lochan.versioning.bodies.outside_files import OutsideFolder
    from lochan.versioning.exports import ExportCounts, ExportSpan, ExportTrees
    from lochan.versioning.open_repository import OpenRepository

Progress = Callable[[int], None]  # called with bytes as they are written
_SPANS = 256  # how many spans an export has; each is a part of the manifest


class ExportResult(Result, frozen=True, kw_only=True):
    commit: str
    since: str | None
    files: int
    bytes: int
    present: int  # files that existed already, from an export that was interrupted
    removed: int  # paths that were removed since the earlier commit
    deleted: int  # how many of these files were deleted at the destination


class ExportRequest(NamedTuple):
    """The request of an export. It can be pickled, except for the session."""

    repository: str
    commit: str
    since: str  # a commit; empty if all objects are exported
    prefix: str
    url: str
    delete: bool


async def export(
    session: Session, repository: OpenRepository, request: ExportRequest, engine: EngineOptions, progress: Progress
) -> ExportResult:
    """Exports objects. Raises Refused, Invalid, and errors of reading an object."""
    from lochan.engines.choice import SPARK
    from lochan.versioning.exports import SUCCESS, ExportCounts, FolderTarget, check_names, spans_of, target_at
    from lochan.versioning.heads.imports import outside_of

    if request.delete and not request.since:
        raise Invalid("--delete is for --since: it removes what was removed since", hint="leave it out")
    try:
        place = await outside_of(repository).place(request.url)
    except Refused as error:
        raise Refused(error.message, hint="choose a destination that is not in a lake") from error
    trees = await _trees(repository, request)
    target = target_at(place)
    found = await check_names(repository, trees, folds=target.folding() if isinstance(target, FolderTarget) else None)
    if not found and not request.since:
        raise Invalid(
            f"there are no objects under {request.prefix or '/'!r}", hint="`lochan fs ls REPO` shows what is there"
        )
    await target.delete(SUCCESS)
    spans = spans_of(trees, _SPANS)
    run = _export_on_spark if engine.engine == SPARK else _export_here
    total = sum(await run(session, repository, request, place, trees, spans, engine, progress), ExportCounts())
    numbers = {name: getattr(total, name) for name in ("files", "bytes", "present", "removed", "deleted")}
    result = ExportResult(commit=request.commit, since=request.since or None, **numbers)
    about = {"repository": request.repository, "prefix": request.prefix, "parts": len(spans), **result.as_json()}
    await target.put(SUCCESS, msgspec.json.encode(about) + b"\n")
    return result


async def _trees(repository: OpenRepository, request: ExportRequest) -> ExportTrees:
    from lochan.versioning.exports import ExportTrees

    refs, _ = await repository.refs()
    tree = await repository.tree(refs.commit(request.commit))
    since = await repository.tree(refs.commit(request.since)) if request.since else None
    return ExportTrees(tree, since, request.prefix)


async def _export_here(
    session: Session,
    repository: OpenRepository,
    request: ExportRequest,
    place: OutsideFolder,
    trees: ExportTrees,
    spans: list[ExportSpan],
    engine: EngineOptions,
    progress: Progress,
) -> list[ExportCounts]:
    from lochan.versioning.exports import export_span, target_at

    target = target_at(place)
    try:
        return [
            await export_span(repository, trees, span, target, delete=request.delete, advance=progress)
            for span in spans
        ]
    except BaseExceptionGroup as errors:
        raise _first_error(errors) from errors


def _first_error(errors: BaseExceptionGroup) -> BaseException:
    """Returns the first error of the workers of a span, which run together."""
    found = errors.exceptions[0]
    return _first_error(found) if isinstance(found, BaseExceptionGroup) else found


# --- Spark -----------------------------------------------------------------------------------------------------------
class ExportPlaces(NamedTuple):
    """The places that all tasks of an export use. They can be pickled."""

    lake: StoreLocation
    root: str
    prefix: str
    outside: dict[str, StoreLocation]  # stores outside the lake that may be read or written, by their roots
    request: ExportRequest


async def _export_on_spark(
    session: Session,
    repository: OpenRepository,
    request: ExportRequest,
    place: OutsideFolder,
    trees: ExportTrees,
    spans: list[ExportSpan],
    engine: EngineOptions,
    progress: Progress,
) -> list[ExportCounts]:
    import asyncio
    from functools import partial

    from lochan.engines.spark.session import session_at
    from lochan.jobs.record import record_job
    from lochan.jobs.tasks import on_spark, run_on_bytes
    from lochan.versioning.exports import ExportCounts

    lake, where = session.lake, session.spark(engine.master)
    spark = await asyncio.to_thread(session_at, where, engine.limits)
    outside = {root: lake.place_of(root).for_others() for root in {place.root, "file:///"}}
    places = ExportPlaces(lake.place.for_others(), place.root, place.prefix, outside, request)
    tasks = [msgspec.msgpack.encode(tuple(span)) for span in spans]
    with record_job(lake, "export", request.repository, actor=session.actor, where=where.where) as report:

        def work() -> list[bytes]:
            return run_on_bytes(spark, partial(_export_tasks, places), tasks)

        done = await on_spark(spark, work, tag=f"lochan-{report.id}", about=f"export of {request.repository}")
        counts = [msgspec.msgpack.decode(each, type=ExportCounts) for each in done]
        report.rows(sum(each.files for each in counts))
    for each in counts:
        progress(each.bytes)
    return counts


def _export_tasks(places: ExportPlaces, tasks: Iterable[bytes]) -> Iterator[bytes]:
    """Runs the tasks of one process."""
    import asyncio

    from lochan.jobs.messages import reports_errors

    with reports_errors(), asyncio.Runner() as runner:
        for task in tasks:
            yield msgspec.msgpack.encode(runner.run(_export_task(places, task)))


async def _export_task(places: ExportPlaces, task: bytes) -> ExportCounts:
    from lochan.versioning.bodies.outside_files import OutsideFolder
    from lochan.versioning.exports import ExportSpan, export_span, target_at

    lake = await _open_lake(places)
    try:
        repository = await lake.open_repository(places.request.repository)
        outside = repository.outside
        assert outside is not None
        place = OutsideFolder(places.root, places.prefix, outside.find(places.root)[0])
        trees = await _trees(repository, places.request)
        span = ExportSpan(*msgspec.msgpack.decode(task))
        try:
            return await export_span(repository, trees, span, target_at(place), delete=places.request.delete)
        except BaseExceptionGroup as errors:
            first = _first_error(errors)
            raise first if isinstance(first, LochanError) else errors from errors
        finally:
            await repository.close()
    finally:
        await lake.close()


async def _open_lake(places: ExportPlaces) -> Lake:
    from lochan.clock import SystemClock
    from lochan.engines.spark.executors import open_on_executor
    from lochan.ids import Ids
    from lochan.lake import Lake, LakeOptions
    from lochan.store.protocol import Store

    clock, ids = SystemClock(), Ids()

    def open_store(root: str) -> Store:
        return open_on_executor(places.outside.get(root) or places.lake.at(root), clock, ids)

    return await Lake.open(open_on_executor(places.lake, clock, ids), world=LakeOptions(open_store))
