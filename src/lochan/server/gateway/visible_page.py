"""A page of a list for a user who may not see all of it: what is denied is left out, and folders of nothing else.

A page may be short, or even empty, where much is denied in one place; the next one begins where it ends. What it ends
with is the last that is shown, if anything is: a marker names no denied object unless there is no other way on.
"""

import pyarrow as pa

from lochan.access.rights import VisibleObjects
from lochan.formats.entry import ENTRY_SCHEMA
from lochan.formats.run import column
from lochan.staging.listing import ColumnPage
from lochan.staging.view import View

_CHUNK = 1_000  # entries that are looked at together
_CHUNKS_MAX = 20  # of denied ones, until a page is answered though it is empty
_LOOKED_MAX = 5_000  # objects of a folder that are looked through for one that is shown


async def visible_page(
    view: View, visible: VisibleObjects, prefix: str, after: str, delimiter: str, limit: int
) -> ColumnPage:
    for _ in range(_CHUNKS_MAX):
        found = await view.list_columns(prefix, after, delimiter, max(limit, _CHUNK))
        entries = _shown(found.entries, visible)
        prefixes = [each for each in found.prefixes if await _is_shown(view, visible, each)]
        if entries.num_rows or prefixes:
            return _first(entries, prefixes, limit, more=found.next is not None)
        if found.next is None:
            return ColumnPage(entries, [], None)
        after = found.next
    return ColumnPage(ENTRY_SCHEMA.empty_table(), [], after)


def _shown(entries: pa.Table, visible: VisibleObjects) -> pa.Table:
    return entries.filter(visible.each(column(entries, "path"))) if entries.num_rows else entries


async def _is_shown(view: View, visible: VisibleObjects, folder: str) -> bool:
    """Whether there is anything in it that is. Where that cannot be seen from the policies its objects are looked
    through; of a very large one it is said to be so."""
    certain = visible.below(folder)
    if certain is not None:
        return certain
    after = ""
    for _ in range(_LOOKED_MAX // _CHUNK):
        found = await view.list_columns(folder, after, "", _CHUNK)
        if _shown(found.entries, visible).num_rows:
            return True
        if found.next is None:
            return False
        after = found.next
    return True


def _first(entries: pa.Table, prefixes: list[str], limit: int, *, more: bool) -> ColumnPage:
    """The first of both together, in order."""
    paths = column(entries, "path").to_pylist() if entries.num_rows else []
    items = sorted([*paths, *prefixes], key=str.encode)
    kept = items[:limit]
    folders = set(kept).intersection(prefixes)
    count = len(kept) - len(folders)
    next = kept[-1] if more or len(items) > limit else None
    return ColumnPage(entries.slice(0, count), [each for each in prefixes if each in folders], next)
