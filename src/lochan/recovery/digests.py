"""Prepares the segments of a repository's journal for the fold, in order, in this process or in others beside it.

    store ──▶ read ──▶ pool of processes: check, take apart ──▶ the fold, in order

A process takes a few tenths of a second to start. Until the first one has, this one does the work.

The number of segments under way is limited, so memory does not grow with the journal.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

from lochan.errors import NotFound
from lochan.journal.slots import GROUP
from lochan.recovery.journal_walk import segment_path
from lochan.store.protocol import Store
from lochan.versioning.journal_digest import SegmentDigest, decode_digest, digest_segment, is_loaded

SEGMENTS_MIN = 48  # on two processors, other processes make a journal of 24 segments slower
_AHEAD = 4  # segments that are prepared ahead for each process
_WAVE = 256  # segments that tasks of Spark send at a time: 65,536 records

# Digests of these groups of a journal, in order. A stretch ends with each of the numbers.
DigestSource = Callable[[Store, str, range, Collection[int]], AsyncIterator[SegmentDigest]]
Digest = Callable[[bytes, str, int, Collection[int]], "Future[bytes]"]


def in_this_process() -> DigestSource:
    def source(store: Store, journal: str, groups: range, stops: Collection[int]) -> AsyncIterator[SegmentDigest]:
        return _digests(store, journal, groups, stops, None, lambda: False)

    return source


@contextmanager
def digest_pool(processes: int | None = None) -> Iterator[DigestSource]:
    """Starts a pool of processes that prepare segments, by default one for each processor: the fold takes a sixth of
    the time that they do."""
    count = processes or os.cpu_count() or 1
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        started = [pool.submit(is_loaded) for _ in range(count)]  # each makes the pool start another one

        def digest(data: bytes, journal: str, group: int, stops: Collection[int]) -> Future[bytes]:
            return pool.submit(digest_segment, data, journal, group, stops)

        yield in_parallel(digest, lambda: any(each.done() for each in started))


def in_parallel(digest: Digest, ready: Callable[[], bool] = lambda: True) -> DigestSource:
    def source(store: Store, journal: str, groups: range, stops: Collection[int]) -> AsyncIterator[SegmentDigest]:
        return _digests(store, journal, groups, stops, digest, ready)

    return source


async def _digests(
    store: Store,
    journal: str,
    groups: range,
    stops: Collection[int],
    digest: Digest | None,
    ready: Callable[[], bool],
) -> AsyncIterator[SegmentDigest]:
    """Yields the digests in order, and ends early at a segment that is gone. Until another process is ready, segments
    are prepared here. Raises Corrupt."""
    ahead = _AHEAD * (os.cpu_count() or 1)
    waiting: deque[Future[bytes]] = deque()
    left = iter(groups)
    more = True
    while more or waiting:
        while more and len(waiting) < ahead:
            group = next(left, None)
            try:
                data = None if group is None else await store.get(segment_path(journal, group))
            except NotFound:
                data = None
            if group is None or data is None:
                more = False
                break
            wanted = _within(stops, group, group)
            if digest is None or not ready():
                yield decode_digest(digest_segment(data, journal, group, wanted))
            else:
                waiting.append(digest(data, journal, group, wanted))
        if waiting:
            yield decode_digest(await asyncio.wrap_future(waiting.popleft()))


Wave = Callable[[str, Sequence[tuple[int, str]], Sequence[int]], Awaitable[list[bytes]]]


def in_waves(wave: Wave) -> DigestSource:
    """Returns a source for Spark, which sends a fixed number of segments at a time."""

    async def source(store: Store, journal: str, groups: range, stops: Collection[int]) -> AsyncIterator[SegmentDigest]:
        for start in range(groups.start, groups.stop, _WAVE):
            part = range(start, min(groups.stop, start + _WAVE))
            named = [(group, segment_path(journal, group)) for group in part]
            for data in await wave(journal, named, _within(stops, part[0], part[-1])):
                yield decode_digest(data)

    return source


def _within(stops: Collection[int], first: int, last: int) -> list[int]:
    return [each for each in stops if first * GROUP <= each < (last + 1) * GROUP]
