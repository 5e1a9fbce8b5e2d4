"""Makes lists page by page. It takes `after`, `amount` and `prefix`, and returns the results and where to continue."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, TypeVar

import msgspec

from lochan.server.rest.wire import Pagination

AMOUNT, AMOUNT_MAX = 100, 1_000
Item = TypeVar("Item")

Amount = Annotated[int, msgspec.Meta(ge=-1, description="how many results; -1: as many as a page holds")]


class PageQuery(msgspec.Struct, frozen=True):
    prefix: str = ""
    after: str = ""
    amount: Amount = AMOUNT

    @property
    def limit(self) -> int:
        return page_limit(self.amount)


def page_limit(amount: int) -> int:
    """Returns the largest number of results on one page."""
    return AMOUNT_MAX if amount < 1 else min(amount, AMOUNT_MAX)


def pagination(count: int, next: str) -> Pagination:
    """Returns the pagination. `next` is where the next page begins, or empty if there is none."""
    return Pagination(has_more=bool(next), next_offset=next, results=count, max_per_page=AMOUNT_MAX)


async def page_by_name(
    items: AsyncIterator[Item], name: Callable[[Item], str], query: PageQuery
) -> tuple[list[Item], Pagination]:
    """Returns a page of items that come in the order of their names."""
    found: list[Item] = []
    async for item in items:
        text = name(item)
        if text <= query.after or not text.startswith(query.prefix):
            continue
        if len(found) == query.limit:
            return found, pagination(len(found), name(found[-1]))
        found.append(item)
    return found, pagination(len(found), "")


async def page_by_position(
    items: AsyncIterator[Any], after: Callable[[Any], bool], offset: Callable[[Any], str], begun: bool, limit: int
) -> tuple[list[Any], Pagination]:
    """Returns a page of items that come in any order. It contains those behind the item that `after` recognises, or
    starts with the first one if it has `begun`."""
    found: list[Any] = []
    async for item in items:
        if not begun:
            begun = after(item)
            continue
        if len(found) == limit:
            return found, pagination(limit, offset(found[-1]))
        found.append(item)
    return found, pagination(len(found), "")
