"""Turns pages of obstore's listing, as Arrow batches, into tables of STAT_SCHEMA. It does what `RemoteStore.list` does
with each object, for a whole page at once."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Refused
from lochan.store.clouds import UNORDERED
from lochan.store.stat_tables import STAT_SCHEMA, under


class ListedPages:
    def __init__(self, url: str, prefix: str, after: str) -> None:
        self._url = url
        self._prefix = prefix
        self._after = after
        self._last = ""
        self.ended = False  # what follows has another prefix

    def table(self, page: Any) -> pa.Table:
        """Returns the objects of the next page. Raises Refused if the store does not list in order."""
        batch = self._in_order(pa.record_batch(page))
        if not batch.num_rows:
            return STAT_SCHEMA.empty_table()
        self._last = batch.column("path")[-1].as_py()
        self.ended = self._last > self._prefix and not self._last.startswith(self._prefix)
        table = pa.table(
            [
                batch.column("path"),
                batch.column("size").cast(pa.int64()),
                batch.column("last_modified").cast(pa.timestamp("us", "UTC")).cast(pa.int64()),
                _quote_etags(pc.fill_null(batch.column("e_tag"), "")),
            ],
            schema=STAT_SCHEMA,
        )
        return under(table, self._prefix, self._after)

    def _in_order(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns the page without markers that consoles made for empty folders, whose last slash obstore has
        dropped."""
        paths = batch.column("path")
        if not len(paths):
            return batch
        if paths[0].as_py() >= self._last and pc.all(pc.less_equal(paths[:-1], paths[1:])).as_py() is not False:
            return batch
        kept, last = [], self._last
        for row, (path, size) in enumerate(zip(paths.to_pylist(), batch.column("size").to_pylist(), strict=True)):
            if path >= last:
                kept.append(row)
                last = path
            elif size or f"{path}/" <= last:
                raise Refused(f"{self._url} does not list its objects in order", hint=UNORDERED)
        return batch.take(kept)


def _quote_etags(etags: pa.StringArray) -> pa.StringArray:
    """Adds the quotes that are part of an ETag, and that a condition needs. Azure's lists leave them out."""
    bare = pc.and_(pc.not_equal(etags, ""), pc.invert(pc.ends_with(etags, '"')))
    if not pc.any(bare).as_py():
        return etags
    return pc.if_else(bare, pc.binary_join_element_wise('"', etags, '"', ""), etags)
