"""Makes one page of what differs between two refs, or of what is staged on a branch. A folder can count as one
entry."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from lochan.api.object_results import ObjectInfo
from lochan.api.ref import Ref
from lochan.server.rest.pages import PageQuery, page_by_name
from lochan.server.rest.wire import DiffList, DiffObjectStat, WireDiff


class DiffQuery(PageQuery, frozen=True):
    delimiter: str = ""


async def diff_page(differences: AsyncIterator[WireDiff], query: DiffQuery, stats_at: Ref | None = None) -> DiffList:
    """Returns a page of differences, which come in path order. With `stats_at`, the details of the objects on the right
    are read there."""
    page, where = await page_by_name(_roll_up(differences, query), lambda each: each.path, query)
    if stats_at is not None:
        page = await _with_stats(page, stats_at)
    return DiffList(pagination=where, results=page)


async def _roll_up(differences: AsyncIterator[WireDiff], query: DiffQuery) -> AsyncIterator[WireDiff]:
    last = ""
    async for each in differences:
        folder = _folder(each.path, query.prefix, query.delimiter)
        if not folder:
            yield each
        elif folder != last:
            last = folder
            yield WireDiff.of_folder(folder)


def _folder(path: str, prefix: str, delimiter: str) -> str:
    """Returns the path up to the first delimiter behind the prefix, or an empty string if there is none."""
    if not delimiter:
        return ""
    head, found, _ = path[len(prefix) :].partition(delimiter)
    return f"{prefix}{head}{delimiter}" if found else ""


async def _with_stats(page: list[WireDiff], at: Ref) -> list[WireDiff]:
    there = [each.path for each in page if each.type in ("added", "changed")]
    found = dict(zip(there, await at.stat_many(there), strict=True))
    return [_with_stat(each, found.get(each.path)) for each in page]


def _with_stat(difference: WireDiff, found: ObjectInfo | None) -> WireDiff:
    if found is None:
        return difference
    return msgspec.structs.replace(difference, right=DiffObjectStat.of(found))
