"""Sizes and ETags of very many objects, without a request for each.

A listing returns a thousand objects at once, and the objects of a pool are close together, in the folders of the tasks
that wrote them. Between them may be others, such as garbage, so a listing that finds too few is abandoned. A listing
may be stale: an object that it lacks is looked up by its name."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import aclosing
from os.path import commonprefix
from typing import Any, TypeVar, cast

from lochan.errors import NotFound
from lochan.store.protocol import Stat, Store

T = TypeVar("T")

FEW = 32  # for so few objects, single requests take hardly longer than one
_HEADS_AT_ONCE = 32
_LISTED_PER_OBJECT = 50  # even with so many others, a listing needs 20 times fewer requests


async def object_stats(store: Store, addresses: Sequence[str]) -> list[Stat | None]:
    """Returns the stat of each object, or None if it is gone."""
    listed = await _list_stats(store, addresses) if len(addresses) > FEW else {}
    unknown = [address for address in addresses if address not in listed]
    found = await at_once(_HEADS_AT_ONCE, [_head(store, address) for address in unknown])
    heads = dict(zip(unknown, found, strict=True))
    return [listed.get(address) or heads.get(address) for address in addresses]


async def _list_stats(store: Store, addresses: Sequence[str]) -> dict[str, Stat]:
    wanted, found = set(addresses), dict[str, Stat]()
    first, last = min(wanted), max(wanted)
    left = _LISTED_PER_OBJECT * len(wanted)
    prefix = commonprefix([first, last])  # noqa: RUF071 - a store takes any text
    async with aclosing(cast("Any", store.list(prefix, first[:-1]))) as stats:  # it begins at `first`, or just below
        async for stat in stats:
            if stat.path > last or left <= 0:
                break
            left -= 1
            if stat.path in wanted:
                found[stat.path] = stat
    return found


async def _head(store: Store, address: str) -> Stat | None:
    try:
        return await store.head(address)
    except NotFound:
        return None


async def at_once(most: int, calls: Sequence[Awaitable[T]]) -> list[T]:
    gate = asyncio.Semaphore(most)

    async def one(call: Awaitable[T]) -> T:
        async with gate:
            return await call

    return list(await asyncio.gather(*map(one, calls)))
