"""The segments of a repository's journal, prepared for the fold by other processes, in order.

    store ──▶ read ──▶ pool of processes: check, take apart ──▶ the fold, in order

Only so many segments are under way at a time, so memory does not grow with the journal.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

from lochan.errors import NotFound
from lochan.recovery.journal_walk import segment_path
from lochan.store.protocol import Store
from lochan.versioning.journal_digest import SegmentDigest, decode_digest, digest_segment

SEGMENTS_MIN = 16  # a shorter journal is folded before the processes have started
_AHEAD = 4  # segments for each process

Digest = Callable[[bytes, str, int, Collection[int]], "Future[bytes]"]


@contextmanager
def digest_pool(processes: int | None = None) -> Iterator[Digest]:
    """By default one process for each processor: the fold takes a sixth of what they do."""
    count = processes or os.cpu_count() or 1
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        yield lambda data, journal, group, stops: pool.submit(digest_segment, data, journal, group, stops)


async def digests(
    store: Store, journal: str, groups: range, stops: Collection[int], digest: Digest
) -> AsyncIterator[SegmentDigest]:
    """In order. Ends early at a segment that is gone. Raises Corrupt."""
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
            span = range(group * 256, group * 256 + 256)
            waiting.append(digest(data, journal, group, [each for each in stops if each in span]))
        if waiting:
            yield decode_digest(await asyncio.wrap_future(waiting.popleft()))
