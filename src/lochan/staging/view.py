"""A reader's view of a branch: the staged layers over the base, newest wins, without tombstones.

A view shows one moment: its layers and base never change."""

from bisect import bisect_left
from collections.abc import AsyncIterator
from contextlib import aclosing
from itertools import accumulate

import pyarrow as pa

from lochan.concurrency import map_ahead
from lochan.formats import bloom
from lochan.formats.entry import ENTRY_SCHEMA, RUN_SCHEMA, Entry, Tombstone
from lochan.formats.entry_table import EntryRows, as_batch
from lochan.formats.run import RunRef, ascends, changes_table, empty
from lochan.staging.cursors import ABOVE, Cost, RowCursor, cursor_over, hidden_keys
from lochan.staging.inline import Inline
from lochan.staging.layers import Layer, Layers
from lochan.staging.listing import ColumnPage, FolderListing, ListingResult, ViewPage, flat
from lochan.staging.merge import Pile
from lochan.staging.runs import OpenRun, Runs
from lochan.staging.sources import ColumnSource, RowSource, ViewBase, inline_sources
from lochan.tree.rows import PathSpan, behind, encode_path, inside, span

Sources = list[RowSource]
Stack = tuple[Layer, ...]  # newest first
Waiting = list[tuple[int, RunRef]]  # runs to open, each with its age, in the order of their first paths

_WIDTH = 8  # runs read from the store in parallel
_BLOOM_PATHS_MAX = 1_000  # for more, a run is simply opened
_PASSED_ROWS_MIN = 1 << 16  # smaller runs are opened as a whole, and stay open for the next reader


class View:
    """A view of a branch. `over`, if given, is the tree of `layers.over`, made for this very base: it is read instead
    of the runs it covers and the base, and shows the same. `above` is on top of all layers: the files of a
    workspace."""

    def __init__(
        self, layers: Layers, base: ViewBase, runs: Runs, over: ViewBase | None = None, above: ViewBase | None = None
    ) -> None:
        covered = len(layers.over.runs) if over is not None and layers.over is not None else 0
        self._layers = tuple(reversed(layers.layers))  # newest first
        self._seen = self._layers[: len(self._layers) - covered]  # those that a reader must read
        self._base = over if over is not None and covered else base
        self._runs = runs
        self._above = above
        self.cost = Cost()

    async def get(self, path: str) -> Entry | None:
        if self._above is not None and (file := await self._above.get(path)) is not None:
            return file
        for layer in self._seen:
            found = layer.get(path) if isinstance(layer, Inline) else await self._runs.get(layer, path)
            if found is not None:
                return None if isinstance(found, Tombstone) else found
        return await self._base.get(path)

    async def list(self, prefix: str = "", after: str = "", delimiter: str = "", limit: int = 1000) -> ViewPage:
        """Returns a page of the entries under `prefix` and after `after`. With a delimiter, all paths that are equal up
        to the next delimiter after the prefix become one common prefix, and are skipped without reading them. An
        `after` that is a common prefix stands for everything under it."""
        return ViewPage([], [], None) if limit <= 0 else (await self._found(prefix, after, delimiter, limit)).page()

    async def list_columns(
        self, prefix: str = "", after: str = "", delimiter: str = "", limit: int = 1000
    ) -> ColumnPage:
        """Returns a page like `list`, with the entries as a table."""
        if limit <= 0:
            return ColumnPage(ENTRY_SCHEMA.empty_table(), [], None)
        return (await self._found(prefix, after, delimiter, limit)).columns()

    async def _found(self, prefix: str, after: str, delimiter: str, limit: int) -> ListingResult:
        within = span(prefix, after)
        if _is_common_prefix(after, prefix, delimiter):
            within = PathSpan(behind(encode_path(after)), within.high)
            after += ABOVE
        base = cursor_over(self._base, prefix, within, after)
        top = [] if self._above is None else [cursor_over(self._above, prefix, within, after)]
        cursors = [*top, *(RowCursor(source, within) for source in await self._sources(self._seen, within)), base]
        try:
            if not delimiter:
                return await flat(cursors, limit, self.cost)
            return await FolderListing(cursors, prefix, delimiter, limit, self.cost).found()
        finally:
            for cursor in (*top, base):
                await cursor.close()

    async def changes(self, prefix: str = "") -> pa.Table:
        """Returns all staged changes under the prefix, as one table of RUN_SCHEMA: entries and tombstones, newest
        wins."""
        within = span(prefix)
        lone = self._layers[0] if len(self._layers) == 1 and self._above is None else None
        if isinstance(lone, RunRef) and _touches(lone, within):  # as it is: its pieces would have to be joined again
            rows = (await self._runs.open(lone)).rows
            low = rows.seek(within.low)
            return pa.Table.from_batches([rows.batch.slice(low, rows.seek(within.high) - low)])
        pieces = [piece async for piece in self.scan_changes(prefix)]
        return pa.concat_tables(pieces) if pieces else empty()

    async def scan_changes(self, prefix: str = "") -> AsyncIterator[pa.Table]:
        """Yields the staged changes in consecutive tables in path order, none of them empty. A run is opened when its
        paths come and released after them, so runs side by side are never in memory together."""
        within, pile = span(prefix), Pile()
        if self._above is not None:
            pile.add(-1, EntryRows(as_batch(await _puts(self._above, prefix))))
        runs: Waiting = []
        for age, layer in enumerate(self._layers):
            if isinstance(layer, Inline):
                found = changes_table(each for each in layer.changes() if each.path.startswith(prefix))
                pile.add(age, EntryRows(as_batch(found)))
            elif _touches(layer, within):
                runs.append((age, layer))
        runs.sort(key=lambda run: run[1].min_path)
        while pile.left or runs:
            if not pile.left and _is_aside(runs):
                async with aclosing(self._runs.scan(runs.pop(0)[1])) as parts:
                    async for part in parts:
                        rows = inside(part, within)
                        if rows.num_rows:
                            yield pa.Table.from_batches([rows])
                continue
            cut = await self._fill(pile, runs, within)
            if pile.left:
                yield await self._runs.threads.run(pile.take, cut)

    async def _fill(self, pile: Pile, runs: Waiting, within: PathSpan) -> bytes | None:
        """Opens the runs of the next piece, and returns where the piece ends."""
        while runs:
            cut = pile.cut()
            count = _runs_needed(runs, pile.lacks) if cut is None else _below(runs, cut)
            if not count:
                return cut
            chosen, runs[:count] = runs[:count], []
            opened = await self._opened(tuple(run for _, run in chosen), within)
            for age, run in chosen:
                pile.add(age, opened[run.id].rows, within)
        return pile.cut()

    async def paths_staged(self, paths: pa.StringArray) -> pa.StringArray:
        """Returns the paths that some layer has, as an entry or as a tombstone (rule S5), in order."""
        paths = paths if ascends(paths) else paths.unique().sort()
        if not len(paths):
            return paths
        low, high = encode_path(paths[0].as_py()), encode_path(paths[-1].as_py()) + b"\0"
        spans = []
        for source in await self._sources(self._layers, PathSpan(low, high), paths):
            start = source.seek(low, 0)
            spans.append((source, start, source.seek(high, start)))
        return paths.filter(pa.array(hidden_keys(paths, spans, self.cost)))

    async def _sources(self, layers: Stack, within: PathSpan, paths: pa.StringArray | None = None) -> Sources:
        """Returns the sources, newest first. With `paths`, only runs that may hold one of them are opened."""
        opened = await self._opened(layers, within, paths)
        sources: Sources = []
        for layer in layers:
            if isinstance(layer, Inline):
                sources += inline_sources(layer, within)
            elif layer.id in opened:
                sources.append(ColumnSource(opened[layer.id].rows, opened[layer.id].live))
        return sources

    async def _opened(self, layers: Stack, within: PathSpan, paths: pa.StringArray | None = None) -> dict[str, OpenRun]:
        wanted = [layer for layer in layers if isinstance(layer, RunRef) and _touches(layer, within)]
        if paths is not None and len(paths) <= _BLOOM_PATHS_MAX:
            hashes = bloom.hash_all(paths).tolist()
            wanted = [ref for ref in wanted if await self._runs.may_hold(ref, hashes)]
        opened = {ref.id: run for ref in wanted if (run := self._runs.at_hand(ref)) is not None}
        missing = [ref for ref in wanted if ref.id not in opened]
        if missing:
            opened |= {run.ref.id: run async for run in map_ahead(self._runs.open, missing, _WIDTH)}
        return opened


def _is_common_prefix(text: str, prefix: str, delimiter: str) -> bool:
    if not delimiter or not text.startswith(prefix):
        return False
    at = text.find(delimiter, len(prefix))
    return at >= 0 and at + len(delimiter) == len(text)


def _is_aside(runs: Waiting) -> bool:
    """Returns whether the first run, in the order of their first paths, is large and overlaps no other: then none of it
    is hidden, and it can be passed on as it is."""
    first = runs[0][1]
    return first.count > _PASSED_ROWS_MIN and (len(runs) == 1 or first.max_path < runs[1][1].min_path)


def _runs_needed(runs: Waiting, rows: int) -> int:
    """Returns how many of the first runs have so many rows together; at least one."""
    sums = list(accumulate(run.count for _, run in runs))
    return min(bisect_left(sums, rows) + 1, len(runs))


def _below(runs: Waiting, cut: bytes) -> int:
    """Returns how many runs, in the order of their first paths, begin below the cut."""
    return bisect_left(runs, cut, key=lambda run: encode_path(run[1].min_path))


async def _puts(above: ViewBase, prefix: str) -> pa.Table:
    entries = pa.Table.from_batches([batch async for batch in above.scan(prefix)], ENTRY_SCHEMA)
    return entries.append_column(RUN_SCHEMA.field("deleted"), pa.repeat(pa.scalar(False), len(entries)))


def _touches(ref: RunRef, within: PathSpan) -> bool:
    return encode_path(ref.max_path) >= within.low and encode_path(ref.min_path) < within.high
