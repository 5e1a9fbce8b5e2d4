"""What a reader of a branch sees: the staged layers over the base, newest wins, tombstones hidden.

A view is of one moment: layers and base never change under it.
"""

import pyarrow as pa

from lochan.formats import bloom
from lochan.formats.entry import Entry, Tombstone
from lochan.formats.run import RunRef, ascends, changes_table
from lochan.staging.base import Base
from lochan.staging.cursors import ABOVE, BaseCursor, Cost, Cursor, hidden
from lochan.staging.inline import Inline
from lochan.staging.layers import Layers
from lochan.staging.listing import Folded, Page, flat
from lochan.staging.merge import merged
from lochan.staging.runs import OpenRun, Runs
from lochan.staging.sources import Columns, Source, inline_sources
from lochan.tree.ahead import ahead
from lochan.tree.bounds import Span, behind, encoded, span

Sources = list[Source]

_WIDTH = 8  # runs read from the store at once
_BLOOM_PATHS_MAX = 1_000  # for more, a run is simply opened


class View:
    def __init__(self, layers: Layers, base: Base, runs: Runs) -> None:
        self._layers = tuple(reversed(layers.layers))  # newest first
        self._base = base
        self._runs = runs
        self.cost = Cost()

    async def get(self, path: str) -> Entry | None:
        for layer in self._layers:
            found = layer.get(path) if isinstance(layer, Inline) else await self._runs.get(layer, path)
            if found is not None:
                return None if isinstance(found, Tombstone) else found
        return await self._base.get(path)

    async def list(self, prefix: str = "", after: str = "", delimiter: str = "", limit: int = 1000) -> Page:
        """A page of what lies under `prefix` behind `after`. With a delimiter, all paths that go on to the same next
        delimiter behind the prefix are one common prefix, and are skipped, not read. An `after` that is a common
        prefix stands for all of it."""
        if limit <= 0:
            return Page([], [], None)
        within = span(prefix, after)
        if _is_common_prefix(after, prefix, delimiter):
            within = Span(behind(encoded(after)), within.high)
            after += ABOVE
        base = BaseCursor(self._base, prefix, within, after)
        cursors = [*(Cursor(source, within) for source in await self._sources(within)), base]
        try:
            if not delimiter:
                return await flat(cursors, limit, self.cost)
            return await Folded(cursors, delimiter, len(prefix), limit, self.cost).page()
        finally:
            await base.close()

    async def changes(self, prefix: str = "") -> pa.Table:
        """All that is staged under the prefix, as one table of RUN_SCHEMA: entries and tombstones, newest wins."""
        within = span(prefix)
        opened = await self._opened(within)
        tables = []
        for layer in self._layers:
            if isinstance(layer, Inline):
                tables.append(changes_table(each for each in layer.changes() if each.path.startswith(prefix)))
            elif layer.id in opened:
                rows = opened[layer.id].rows
                low = rows.seek(within.low)
                tables.append(pa.Table.from_batches([rows.batch.slice(low, rows.seek(within.high) - low)]))
        return merged(tables)

    async def paths_staged(self, paths: pa.StringArray) -> pa.StringArray:
        """Those of the paths that some layer holds, as an entry or as a tombstone (rule S5), in order."""
        paths = paths if ascends(paths) else paths.unique().sort()
        if not len(paths):
            return paths
        low, high = encoded(paths[0].as_py()), encoded(paths[-1].as_py()) + b"\0"
        spans = []
        for source in await self._sources(Span(low, high), paths):
            start = source.seek(low, 0)
            spans.append((source, start, source.seek(high, start)))
        return paths.filter(pa.array(hidden(paths, spans, self.cost)))

    async def _sources(self, within: Span, paths: pa.StringArray | None = None) -> Sources:
        """Newest first. With `paths`, only runs that may hold one of them."""
        opened = await self._opened(within, paths)
        sources: Sources = []
        for layer in self._layers:
            if isinstance(layer, Inline):
                sources += inline_sources(layer)
            elif layer.id in opened:
                sources.append(Columns(opened[layer.id].rows, opened[layer.id].live))
        return sources

    async def _opened(self, within: Span, paths: pa.StringArray | None = None) -> dict[str, OpenRun]:
        wanted = [layer for layer in self._layers if isinstance(layer, RunRef) and _touches(layer, within)]
        if paths is not None and len(paths) <= _BLOOM_PATHS_MAX:
            hashes = bloom.hash_all(paths).tolist()
            wanted = [ref for ref in wanted if await self._runs.may_hold(ref, hashes)]
        opened = {ref.id: run for ref in wanted if (run := self._runs.at_hand(ref)) is not None}
        missing = [ref for ref in wanted if ref.id not in opened]
        if missing:
            opened |= {run.ref.id: run async for run in ahead(self._runs.open, missing, _WIDTH)}
        return opened


def _is_common_prefix(text: str, prefix: str, delimiter: str) -> bool:
    if not delimiter or not text.startswith(prefix):
        return False
    at = text.find(delimiter, len(prefix))
    return at >= 0 and at + len(delimiter) == len(text)


def _touches(ref: RunRef, within: Span) -> bool:
    return encoded(ref.max_path) >= within.low and encoded(ref.min_path) < within.high
