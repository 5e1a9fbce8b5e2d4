"""All objects under a prefix, page by page, as they were at one moment."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from lochan.cli.open_ref import OpenRef

if TYPE_CHECKING:
    from lochan.formats.entry import Entry
    from lochan.staging.listing import Page
    from lochan.staging.view import View

_PAGE = 1_000


async def view_of(opened: OpenRef) -> "View":
    return await opened.repository.view(await opened.repository.resolve(opened.ref, workspaces=True))


async def pages(view: "View", prefix: str, delimiter: str = "") -> "AsyncIterator[Page]":
    """At least one, which may be empty."""
    after: str | None = ""
    while after is not None:
        page = await view.list(prefix, after, delimiter, _PAGE)
        yield page
        after = page.next


async def entries(view: "View", prefix: str) -> "AsyncIterator[Entry]":
    async for page in pages(view, prefix):
        for entry in page.entries:
            yield entry


def folder(path: str) -> str:
    """The prefix of everything in it; of an empty path, all there is."""
    return path if not path or path.endswith("/") else f"{path}/"


def last_name(path: str) -> str:
    return path.rpartition("/")[2]
