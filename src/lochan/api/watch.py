"""A source outside the lake that a branch follows: by comparing it as a whole now and then, and by its bucket's events
in between.

    events ──▶ keys, until a batch is full or old ──▶ looked up ──▶ one commit for each batch
    clock  ──▶ the whole source is listed and compared ──▶ one commit, which repairs what events have lost

A batch has a name: the watch, and a number. Both are in the commit, with the position in the events; so after a restart
the last batch is known, and no batch lands twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lochan.api.imports import ImportResult, ImportSource
from lochan.api.options import CommitOptions
from lochan.api.results import Result
from lochan.errors import Invalid, NothingToDo, Retry

if TYPE_CHECKING:
    import threading

    from lochan.api.branch import Branch
    from lochan.api.session import Session
    from lochan.versioning.open_repository import OpenRepository

OFFSET = "lochan-offset"  # in a commit's metadata: how many bytes of the events were read
_LOOK_S = 0.2  # how often it checks whether to stop, and whether a file has grown
_AGAIN_S = 5.0
_LINE_BYTES_MAX = 4 << 20


class WatchOptions(msgspec.Struct, frozen=True, kw_only=True):
    every_s: float = 60.0  # the time between two comparisons, if there are no events
    full_s: float = 3_600.0  # with events: how often the whole source is compared, because events get lost
    batch_count: int = 1_000  # events that make a batch
    batch_s: float = 10.0  # or the age of the first event in seconds
    keep_removed: bool = False
    once: bool = False  # reads what is there now, and ends
    message: str = ""


class WatchBatch(Result, frozen=True, kw_only=True):
    number: int
    events: int | None  # the number of its events; None if the whole source was compared
    commit: str | None  # None if nothing had changed
    added: int = 0
    changed: int = 0
    removed: int = 0
    bytes: int = 0
    unread: int = 0  # lines that were no events


Listener = Callable[[WatchBatch], None]
Events = AsyncIterator[tuple[bytes, int]]  # lines, and how many bytes of the events were read up to the end of each


async def run_once(branch: Branch, source: ImportSource, options: WatchOptions | None = None) -> ImportResult | None:
    """Compares the whole source with the branch once, for callers with a schedule of their own. Returns None if nothing
    had changed."""
    chosen = options or WatchOptions()
    try:
        return await branch.ingest(source, CommitOptions(message=chosen.message), keep_removed=chosen.keep_removed)
    except NothingToDo:
        return None


class _Watch(NamedTuple):
    session: Session
    repository: OpenRepository
    branch: str
    source: ImportSource
    options: WatchOptions
    progress: Listener

    @property
    def job(self) -> str:
        """Its name. A watch of the same source to the same place continues with its batches."""
        text = "\0".join((self.source.url, self.source.prefix, self.repository.repository.id, self.branch))
        return f"watch-{sha256(text.encode()).hexdigest()[:32]}"


async def watch(
    session: Session,
    repository: OpenRepository,
    branch: str,
    source: ImportSource,
    options: WatchOptions,
    *,
    events: Callable[[int], Events] | None,
    stop: threading.Event,
    progress: Listener,
) -> None:
    """Follows the source. `events` returns the lines from a byte on. Raises errors that keep it from continuing;
    batches that landed stay."""
    if source.inventory:
        raise Invalid("a source that is watched is listed", hint="leave --inventory out")
    at = _Watch(session, repository, branch, source, options, progress)
    number, offset = await _last_batch(at)
    if events is None:
        await _follow_clock(at, number, stop)
    else:
        await _follow_events(at, number, offset, events(offset), stop)


async def _follow_clock(at: _Watch, number: int, stop: threading.Event) -> None:
    while not stop.is_set():
        number = await _compare_all(at, number, "", stop)
        if at.options.once:
            return
        await _sleep(at.options.every_s, stop)


async def _follow_events(at: _Watch, number: int, offset: int, lines: Events, stop: threading.Event) -> None:
    loop = asyncio.get_running_loop()
    number = await _compare_all(at, number, str(offset), stop)
    reader, compared = _LineReader(lines), loop.time()
    try:
        while not stop.is_set() and not reader.ended:
            found = await _read_batch(reader, at.options, stop)
            if found:
                number = await _land_events(at, number, found, reader.offset, stop)
            if loop.time() - compared >= at.options.full_s:
                number = await _compare_all(at, number, str(reader.offset or offset), stop)
                compared = loop.time()
    finally:
        await reader.close()


class _LineReader:
    """Reads lines that may be slow to arrive. A line that did not arrive in time is awaited again by the next call."""

    def __init__(self, lines: Events) -> None:
        self._lines = lines
        self._waiting: asyncio.Task[tuple[bytes, int] | None] | None = None
        self.offset = 0  # the end of the last line, in bytes
        self.ended = False

    async def next(self, seconds: float) -> bytes | None:
        """Returns the next line, or None if none came in that time, or if there are no more."""
        if self._waiting is None:
            self._waiting = asyncio.ensure_future(self._read())
        done, _ = await asyncio.wait([self._waiting], timeout=seconds)
        if not done:
            return None
        found = self._waiting.result()
        self._waiting = None
        if found is None:
            self.ended = True
            return None
        line, self.offset = found
        return line

    async def close(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._waiting

    async def _read(self) -> tuple[bytes, int] | None:
        return await anext(self._lines, None)


async def _read_batch(reader: _LineReader, options: WatchOptions, stop: threading.Event) -> list[bytes]:
    """Returns lines until the batch is full, or its first line is old. They are empty if nothing came for so long."""
    loop = asyncio.get_running_loop()
    found, begun = list[bytes](), loop.time()
    while len(found) < options.batch_count and not stop.is_set() and not reader.ended:
        line = await reader.next(_LOOK_S)
        if line is not None:
            begun = begun if found else loop.time()
            found.append(line)
        elif loop.time() - begun >= options.batch_s:
            break
    return found


async def _land_events(at: _Watch, number: int, lines: list[bytes], offset: int, stop: threading.Event) -> int:
    from lochan.formats.bucket_events import parse_events
    from lochan.versioning.heads.hinted_files import look_up
    from lochan.versioning.heads.imports import outside_of

    keys, unread, count = set[str](), 0, 0
    place = await outside_of(at.repository).place(at.source.url)
    bucket = place.root.partition("://")[2]
    for line in lines:
        try:
            events = parse_events(line)
        except Invalid:
            unread += 1  # comparing the whole source repairs it
            continue
        count += len(events)
        keys |= {event.key for event in events if event.bucket == bucket or place.is_local}
    folder = at.source.folder()

    async def landed() -> WatchBatch:
        plan = await look_up(place, folder, keys, keep_removed=at.options.keep_removed)
        return await _land(at, number, plan, str(offset), count)

    made = await _retry(landed, stop)
    if made is None:
        return number
    at.progress(msgspec.structs.replace(made, unread=unread))
    return number + bool(made.commit)


async def _compare_all(at: _Watch, number: int, offset: str, stop: threading.Event) -> int:
    from lochan.versioning.heads.imports import for_ingest

    async def landed() -> WatchBatch:
        plan = await for_ingest(at.repository, at.source.folder(), keep_removed=at.options.keep_removed)
        return await _land(at, number, plan, offset, None)

    made = await _retry(landed, stop)
    if made is None:
        return number
    at.progress(made)
    return number + bool(made.commit)


async def _land(at: _Watch, number: int, plan: object, offset: str, events: int | None) -> WatchBatch:
    """Lands one batch as one commit, unless it has landed before."""
    from lochan.jobs.job_commit import BatchName, earlier_commit
    from lochan.versioning.heads.imports import bring_in
    from lochan.versioning.heads.moves import CommitMessage

    name = BatchName(at.job, number)
    before = await earlier_commit(at.repository, at.branch, name)
    if before is not None:
        return WatchBatch(number=number, events=events, commit=before)
    metadata = {**name.metadata(), **({OFFSET: offset} if offset else {})}
    message = CommitMessage(at.options.message, metadata)
    try:
        done = await bring_in(at.repository, at.branch, plan, message, actor=at.session.actor)  # type: ignore[arg-type]
    except NothingToDo:
        return WatchBatch(number=number, events=events, commit=None)
    return WatchBatch(number=number, events=events, commit=done.commit, **done.counts._asdict())


async def _last_batch(at: _Watch) -> tuple[int, int]:
    """Returns the number of the next batch, and how many bytes of the events were read."""
    from lochan.jobs.job_commit import BATCH, JOB

    refs, _ = await at.repository.refs()
    id = refs.branch(at.branch).head
    while id:
        commit = refs.recorded(id)
        if commit.metadata.get(JOB) == at.job:
            return int(commit.metadata[BATCH]) + 1, int(commit.metadata.get(OFFSET, "0"))
        id = commit.parents[0] if commit.parents else ""
    return 0, 0


async def _retry(work: Callable[[], Awaitable[WatchBatch]], stop: threading.Event) -> WatchBatch | None:
    """Repeats work while the store does not answer. Returns None if it is stopped."""
    while not stop.is_set():
        with suppress(Retry):
            return await work()
        await _sleep(_AGAIN_S, stop)
    return None


async def _sleep(seconds: float, stop: threading.Event) -> None:
    left = seconds
    while left > 0 and not stop.is_set():
        await asyncio.sleep(min(_LOOK_S, left))
        left -= _LOOK_S


# --- where events come from ------------------------------------------------------------------------------------------
def events_of(
    session: Session, source: ImportSource, place: str, *, once: bool, stop: threading.Event
) -> Callable[[int], Events]:
    """Returns the events. `place` is a file of events, one on each line, `-` for standard input, or `listen`. Raises
    Invalid."""
    if place != LISTEN:
        if place != "-" and not Path(place).is_file():
            raise Invalid(f"there is no file of events {place}", hint="give a file, - or listen")
        return lambda offset: file_events(place, offset, ends=once, stop=stop)
    root, _, prefix = source.url.partition("://")[2].partition("/")
    if not source.url.startswith("s3://") or once:
        raise Invalid("--events listen is for a bucket at s3://, and has no end", hint="leave --once out")
    from lochan.store.bucket_events import listen

    location = session.lake.place_of(f"s3://{root}").with_keys()
    return lambda _: listen(location.options, root, prefix)


LISTEN = "listen"


async def file_events(path: str, offset: int, *, ends: bool, stop: threading.Event) -> Events:
    """Yields the lines from a byte on. With `ends`, it stops at the end of the file, and otherwise when `stop` is
    set."""
    import sys

    if path == "-":
        from lochan.store.bucket_events import read_on_thread

        async for line in read_on_thread(lambda: sys.stdin.buffer.readline(_LINE_BYTES_MAX)):
            yield line, 0
        return
    with Path(path).open("rb") as file:  # noqa: ASYNC230 - a few lines at a time
        size = file.seek(0, 2)
        file.seek(offset if offset <= size else 0)  # a file that has become shorter is another one
        while not stop.is_set():
            begin = file.tell()
            line = file.readline(_LINE_BYTES_MAX)
            if line.endswith(b"\n") or (line and ends):
                yield line, file.tell()
            elif ends:
                return
            else:  # not written completely yet
                file.seek(begin)
                await asyncio.sleep(_LOOK_S)
