"""Records the progress of a job in the lake, so that every user can see it, and can see if the job has died.

    with recorded(lake, "compact", "logs@main", actor=actor, where=place.master) as run:
        run.log("12 objects are merged into 3")
        run.progress(done, total)

The record is put again every few seconds from a thread of its own, because a thread that waits for Spark waits in the
JVM. An error of the store never makes a job fail.

A silent job has no process of its own: Spark calls what begins it and what ends it, in any process at any time. It
is recorded at these moments (`begin_silent`, `end_silent`), and nothing is known about it between them.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from lochan.clock import Clock
from lochan.engines.duckdb.limits import Cancelled, LimitReached
from lochan.errors import Ambiguous, Conflict, Corrupt, Gone, LochanError, NotFound, Retry
from lochan.formats.job import (
    CANCELLED,
    DONE,
    FAILED,
    FORMAT,
    PREFIX,
    RUNNING,
    JobLogLine,
    JobRecord,
    JobStageRecord,
    decode,
    encode,
    id_of,
    path_of,
)
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.pools.keys import Instant
from lochan.store.checked_reads import get_decoded
from lochan.store.counts import counts_of
from lochan.store.protocol import Store

if TYPE_CHECKING:
    from lochan.jobs.job_commit import LandResult


BEAT_S = 5.0
_LINES_MAX, _LINE_MAX, _STAGES_MAX = 200, 300, 100
_KEPT_MAX = 1_000  # records that are kept on the store
_LAST_WORD_S = 10.0  # how long the end of a job may wait until it is recorded
# Errors whose messages are about the store, names or limits. Messages of others may quote a value of a row.
_TELLABLE = (Retry, Conflict, Gone, NotFound, Corrupt, LimitReached)
_PATIENCE_S = 5.0
_HOUR_US = 3_600_000_000
_ONE_IN_62 = "0"  # old records are deleted by a job whose id ends with it, which is one in 62


class JobPlace(Protocol):
    """A lake, or an open repository."""

    @property
    def store(self) -> Store: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def ids(self) -> Ids: ...


@contextmanager
def record_job(
    place: JobPlace, kind: str, about: str, *, actor: Actor, where: str = "", id: str = ""
) -> Iterator[JobReporter]:
    """Records a job from its start to its end. `id` is that of the job, if it has one already."""
    run = JobReporter(place, kind, about, actor, where, id)
    try:
        yield run
    except BaseException as error:
        run.failed(error)
        raise
    run.end()


class JobReporter:
    """Reports one job, from its start to its end. It can be used from any thread."""

    def __init__(self, place: JobPlace, kind: str, about: str, actor: Actor, where: str, id: str = "") -> None:
        self._place = place
        now = place.clock.wall()
        self._record = JobRecord(
            FORMAT, id or place.ids.ksuid(now), kind, about, actor.user, actor.client, actor.source, where, now, now
        )
        self._counts = counts_of(place.store)
        self._before = self._put_so_far()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="lochan-job", daemon=True)
        self._thread.start()

    @property
    def id(self) -> str:
        return self._record.id

    def progress(self, done: int, total: int) -> None:
        """Reports how many of the tasks, or of other units, are done."""
        self._change(done=done, total=total)

    def stages(self, stages: Sequence[JobStageRecord]) -> None:
        """Reports all stages so far. The sum of their tasks is the job's progress."""
        done, total = sum(each.done for each in stages), sum(each.total for each in stages)
        self._change(stages=tuple(stages[-_STAGES_MAX:]), done=done, total=total)

    def rows(self, count: int) -> None:
        """Reports how many rows the job has returned or written so far."""
        self._change(rows=count)

    def wrote(self, size_bytes: int) -> None:
        """Reports that tasks put so many more bytes to the store. What this process puts is counted by its store."""
        with self._lock:
            before = self._record.executor_bytes or 0
            self._record = msgspec.structs.replace(self._record, executor_bytes=before + size_bytes)

    def log(self, text: str) -> None:
        """Adds a line to the log. It may have names and counts, but never a value of a row."""
        line = JobLogLine(self._place.clock.wall(), text[:_LINE_MAX])
        with self._lock:
            lines = (*self._record.lines, line)[-_LINES_MAX:]
            self._record = msgspec.structs.replace(self._record, lines=lines)

    def end(self, state: str = DONE, error: str = "") -> None:
        """Ends the job. Calling it again changes nothing."""
        if self._over.is_set():
            return
        now = self._place.clock.wall()
        self._change(state=state, error=error[:_LINE_MAX], ended=now)
        self._over.set()
        self._thread.join(_LAST_WORD_S)

    def failed(self, error: BaseException) -> None:
        """Ends the job with this error."""
        if isinstance(error, Cancelled) or not isinstance(error, Exception):
            self.end(CANCELLED)
        else:
            self.end(FAILED, why(error))

    def _change(self, **fields: object) -> None:
        with self._lock:
            self._record = msgspec.structs.replace(self._record, **fields)

    def _beat(self) -> None:
        with suppress(Exception):
            self._put()
            asyncio.run(forget_old(self._place.store))
        while not self._over.wait(BEAT_S):
            self._put()
        self._put()

    def _put(self) -> None:
        driver = None if self._counts is None else self._put_so_far() - self._before
        with self._lock:
            self._record = msgspec.structs.replace(self._record, beat=self._place.clock.wall(), driver_bytes=driver)
            record = self._record
        with suppress(Exception):  # a user who may only read can run a query all the same
            asyncio.run(self._place.store.put(path_of(record.id), encode(record)))

    def _put_so_far(self) -> int:
        return 0 if self._counts is None else self._counts.total.bytes_out


def why(error: Exception) -> str:
    """Returns what may be shown of the error to every reader of the record."""
    if isinstance(error, _TELLABLE):
        return error.message
    return error.kind if isinstance(error, LochanError) else type(error).__name__


async def forget_old(store: Store) -> None:
    """Deletes all records but the newest."""
    names = [stat.path async for stat in store.list(PREFIX)]
    for path in names[:-_KEPT_MAX]:
        await store.delete(path)


async def begin_silent(place: JobPlace, kind: str, about: str, actor: Actor, id: str = "") -> JobRecord:
    now = place.clock.wall()
    record = await _put_silent(place, _silent_record(id or place.ids.ksuid(now), kind, about, actor, now))
    if record.id.endswith(_ONE_IN_62):
        with suppress(Exception):
            async with asyncio.timeout(_PATIENCE_S):
                await forget_old(place.store)
    return record


async def end_silent(place: JobPlace, record: JobRecord, result: LandResult | Exception) -> None:
    await _put_silent(place, _end_record(place, record, result))


async def add_silent_batch(
    place: JobPlace, stream: bytes, about: str, actor: Actor, result: LandResult | Exception
) -> None:
    """Adds a batch to the record of a stream, which is identified by sixteen bytes or more. There is one record for
    each hour in which a batch came, and it is done when its last batch is."""
    now = place.clock.wall()
    id = Ids(lambda count: stream[:count]).ksuid(now - now % _HOUR_US)
    found = await _read_silent(place, id) or _silent_record(id, "ingest", about, actor, now)
    await _put_silent(place, _end_record(place, found, result))


def _silent_record(id: str, kind: str, about: str, actor: Actor, now: int) -> JobRecord:
    return JobRecord(FORMAT, id, kind, about, actor.user, actor.client, actor.source, "", now, now, silent=True)


def _end_record(place: JobPlace, record: JobRecord, result: LandResult | Exception) -> JobRecord:
    now = place.clock.wall()
    record = msgspec.structs.replace(record, beat=now, ended=now)
    if isinstance(result, Exception):
        return msgspec.structs.replace(record, state=FAILED, error=why(result))
    return msgspec.structs.replace(
        record,
        state=DONE,
        rows=(record.rows or 0) + result.rows,
        executor_bytes=(record.executor_bytes or 0) + result.put_bytes,
    )


async def _read_silent(place: JobPlace, id: str) -> JobRecord | None:
    path = path_of(id)
    with suppress(Exception):
        async with asyncio.timeout(_PATIENCE_S):
            return await get_decoded(place.store, path, lambda data: decode(data, path))
    return None


async def _put_silent(place: JobPlace, record: JobRecord) -> JobRecord:
    """Puts the record. Returns it with the bytes that were put through the same store meanwhile, including its own."""
    with suppress(Exception):
        async with asyncio.timeout(_PATIENCE_S):
            await place.store.put(path_of(record.id), encode(_add_driver_bytes(place, record)))
    return _add_driver_bytes(place, record)


def _add_driver_bytes(place: JobPlace, record: JobRecord) -> JobRecord:
    counts = counts_of(place.store)
    if counts is None:
        return record
    return msgspec.structs.replace(record, driver_bytes=(record.driver_bytes or 0) + counts.total.bytes_out)


# --- the jobs of a lake as they are now: the last report of each, and which are lost ----------------------------------
LOST = "lost"
LOST_S = 60.0  # many beats; clocks of machines may differ by some seconds
SILENT_S = 86_400.0  # for a job that is recorded only when it ends


async def jobs(store: Store, now: int, limit: int) -> list[JobRecord]:
    """Returns the jobs, the newest first. A record that cannot be read is left out."""
    paths = [stat.path async for stat in store.list(PREFIX)]
    found = await asyncio.gather(*(_read(store, path) for path in reversed(paths[-limit:])))
    read = [_as_of(now, record) for record in found if record is not None]
    return sorted(read, key=lambda record: record.started, reverse=True)  # names contain seconds only


async def job_rows(store: Store, now: int) -> list[dict[str, Any]]:
    """Returns the jobs as rows of a query, the oldest first. Unknown values are left out."""
    return [_row(each) for each in reversed(await jobs(store, now, _KEPT_MAX))]


def _row(job: JobRecord) -> dict[str, Any]:
    plain = ("id", "kind", "about", "state", "user", "client", "source", "where", "done", "total", "error")
    counted = ("rows", "executor_bytes", "driver_bytes")
    row: dict[str, Any] = {name: getattr(job, name) for name in plain} | {"started": Instant(job.started)}
    row |= {name: getattr(job, name) for name in counted if getattr(job, name) is not None}
    return row | ({"ended": Instant(job.ended)} if job.ended else {})


async def job(store: Store, id: str, now: int) -> JobRecord:
    """Returns the job with this id, or the only one whose id begins with it. Raises NotFound, Ambiguous or Corrupt."""
    is_prefix = id.isascii() and id.isalnum()
    ids = [id_of(stat.path) async for stat in store.list(f"{PREFIX}{id}")] if is_prefix else []
    if not ids:
        raise NotFound(f"there is no job {id}", hint="`lochan jobs` lists them; the oldest are forgotten")
    if len(ids) > 1 and id not in ids:
        raise Ambiguous(f"{len(ids)} jobs begin with {id}", hint="give more of its id")
    path = path_of(ids[0])
    return _as_of(now, await get_decoded(store, path, lambda data: decode(data, path)))


def _as_of(now: int, record: JobRecord) -> JobRecord:
    patience_s = SILENT_S if record.silent else LOST_S
    if record.state == RUNNING and now - record.beat > patience_s * 1_000_000:
        return msgspec.structs.replace(record, state=LOST)
    return record


async def _read(store: Store, path: str) -> JobRecord | None:
    try:
        return await get_decoded(store, path, lambda data: decode(data, path))
    except LochanError:
        return None
