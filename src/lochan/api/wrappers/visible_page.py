"""A page of a list of objects, as a user may see it: without objects that they may not read, without folders in which
there is nothing else, and without the name of a hidden object as its end."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pyarrow as pa

from lochan.access.rights import VisibleObjects
from lochan.api.results import ObjectPage
from lochan.api.wrappers.proxy import VerbCall

_PAGES_MAX = 20  # that are hidden as a whole, before a page is given that shows nothing
_FOLDER_MAX = 5_000  # objects of a folder, which are looked at for one that is shown


class VisiblePage:
    def __init__(self, visible: VisibleObjects, call: VerbCall) -> None:
        self._visible = visible
        self._call = call

    async def of(self, page: ObjectPage) -> ObjectPage:
        """The page, or the next one of the same call that shows something."""
        prefix: str = self._call.arguments["prefix"]
        if self._visible.below(prefix):
            return page
        for _ in range(_PAGES_MAX):
            shown = await self._filtered(page)
            if shown.objects or shown.prefixes or page.next is None or "after" not in self._call.arguments:
                break
            page = await self._page_after(page.next)
        last = max([each.path for each in shown.objects] + list(shown.prefixes), key=str.encode, default=page.next)
        return msgspec.structs.replace(shown, next=None if page.next is None else last)

    async def _filtered(self, page: ObjectPage) -> ObjectPage:
        shown = self._each([each.path for each in page.objects])
        objects = tuple(each for each, is_shown in zip(page.objects, shown, strict=True) if is_shown)
        prefixes = tuple([each for each in page.prefixes if await self._shows_folder(each)])
        return ObjectPage(objects=objects, prefixes=prefixes, next=page.next)

    async def _shows_folder(self, prefix: str) -> bool:
        certain = self._visible.below(prefix)
        if certain is not None:
            return certain
        after: str | None = ""
        seen = 0
        while after is not None and seen < _FOLDER_MAX:
            page = await self._call.handle.list_page(prefix, after=after)
            if any(self._each([each.path for each in page.objects])):
                return True
            seen, after = seen + len(page.objects), page.next
        return after is not None

    async def _page_after(self, after: str) -> ObjectPage:
        arguments = {name: self._call.arguments[name] for name in ("prefix", "delimiter", "limit")}
        found: ObjectPage = await self._call.handle.list_page(**arguments, after=after)
        return found

    def _each(self, paths: Sequence[str]) -> list[bool]:
        found: list[bool] = self._visible.each(pa.array(paths, pa.string())).to_pylist()
        return found
