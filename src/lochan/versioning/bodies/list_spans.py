"""Spans of a bucket's keys that can be listed at the same time, or by several machines.

A store does not say how its keys are distributed, so this module finds out: it halves a span by a key in the middle,
and one request asks for the first key behind it. A half without keys costs that request and nothing more.

    low      first key     middle?     first key behind it        high
     ├───────────┼────────────┊──────────────┼──────────────────────┤
     └───────────── span ───────────────────┘└──────── span ────────┘"""

from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lochan.store.protocol import Stat, Store
from lochan.store.stat_tables import stat_tables

_PROBES_PER_SPAN = 16  # requests for a span; all of them are used if there are fewer keys than spans
_LAST_ASCII, _LAST = 0x7F, 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


class ListSpan(NamedTuple):
    """The keys that are greater than `after` and not greater than `upto`."""

    after: str
    upto: str | None  # None if there is no end


async def list_spans(store: Store, prefix: str, wanted: int) -> list[ListSpan]:
    """Returns spans that cover all keys with the prefix, in order: `wanted` spans if there are enough keys."""
    first = await _first_key(store, prefix, ListSpan("", None))
    if first is None:
        return [ListSpan("", None)]
    waiting, done = deque([_Found(first, ListSpan("", None))]), list[_Found]()
    for _ in range(_PROBES_PER_SPAN * wanted):
        if not waiting or len(waiting) + len(done) >= wanted:
            break
        found = waiting.popleft()
        middle = _middle(found.first, found.span.upto, prefix)
        if middle is None:
            done.append(found)
            continue
        behind = await _first_key(store, prefix, ListSpan(middle, found.span.upto))
        waiting.append(_Found(found.first, ListSpan(found.span.after, middle)))
        if behind is not None:
            waiting.append(_Found(behind, ListSpan(middle, found.span.upto)))
    starts = sorted(each.span.after for each in (*done, *waiting))
    return [ListSpan(after, upto) for after, upto in zip(starts, [*starts[1:], None], strict=True)]


class _Found(NamedTuple):
    first: str  # the first key in the span
    span: ListSpan  # where keys may be; after it there is no key before the next span


async def list_span(store: Store, prefix: str, span: ListSpan) -> AsyncGenerator[pa.Table, None]:
    """Yields the objects of a span, as tables of STAT_SCHEMA."""
    async for table in stat_tables(store, prefix, span.after):
        if span.upto is not None and table["path"][-1].as_py() > span.upto:
            inside = table.filter(pc.less_equal(table["path"], span.upto))
            if len(inside):
                yield inside
            return
        yield table


async def _first_key(store: Store, prefix: str, span: ListSpan) -> str | None:
    async with aclosing(_first(store, prefix, span.after)) as stats:
        async for stat in stats:
            return stat.path if span.upto is None or stat.path <= span.upto else None
    return None


async def _first(store: Store, prefix: str, after: str) -> AsyncGenerator[Stat, None]:
    async for stat in store.list(prefix, after):
        yield stat


def _middle(first: str, upto: str | None, prefix: str) -> str | None:
    """Returns a text about halfway between the two, and below the second, or None if there is none. Letters above ASCII
    are rare in keys, so the end of all keys is taken to be there, unless the first has such a letter itself."""
    at = len(prefix)
    while at < len(first):
        low = ord(first[at])
        alike = upto is not None and upto[:at] == first[:at]
        high = (ord(upto[at]) if len(upto) > at else low) if alike and upto is not None else _above(low)
        letter = (low + high) // 2
        if letter > low:
            return first[:at] + chr(_SURROGATES.stop if letter in _SURROGATES else letter)
        at += 1
    return None


def _above(letter: int) -> int:
    return _LAST_ASCII if letter < _LAST_ASCII - 1 else _LAST
