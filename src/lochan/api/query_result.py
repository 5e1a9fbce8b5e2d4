"""What `Lake.query` gives back: rows as they come, and what was read for them."""

from collections.abc import Iterator, Sequence

from lochan.engines.result import Result, Stats

__all__ = ["Result", "Stats", "table_pages"]


def table_pages(result: Result) -> Iterator[tuple[Sequence[str], Sequence[Sequence[str]]]]:
    """Its rows as texts for a table, page by page: the names of columns, and the cells."""
    from lochan.query.output.formats import table_pages as pages

    return pages(result.batches(), result.row)
