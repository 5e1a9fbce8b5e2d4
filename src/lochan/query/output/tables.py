"""Rows as tables for a terminal, a page at a time: the first shows while the rest still comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from lochan.query.output.cells import cells, titles
from lochan.query.output.columns import Column

ROWS_AT_ONCE = 1_000


def table_pages(batches: Iterable[pa.RecordBatch], row: Column) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Titles and cells of at most ROWS_AT_ONCE rows; at least one page, which may be empty."""
    names = titles(row)
    page: list[list[str]] = []
    shown = False
    for batch in batches:
        for start in range(0, len(batch), ROWS_AT_ONCE):
            page += _lines(batch.slice(start, ROWS_AT_ONCE), row)
            if len(page) >= ROWS_AT_ONCE:
                yield names, page
                page, shown = [], True
    if page or not shown:
        yield names, page


def _lines(batch: pa.RecordBatch, row: Column) -> list[list[str]]:
    columns = [[text or "" for text in each.to_pylist()] for each in cells(batch, row)]
    return [list(line) for line in zip(*columns, strict=True)] if columns else [[] for _ in range(len(batch))]
