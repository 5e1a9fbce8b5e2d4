"""Queries: the types of what their verbs give back, and the words that a query can be made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lochan.engines.result import Result as Result
    from lochan.engines.result import Stats as Stats
    from lochan.engines.row_diff.result import RowChange as RowChange
    from lochan.engines.row_diff.result import RowDiff as RowDiff


def table_pages(result: Result) -> Iterator[tuple[Sequence[str], Sequence[Sequence[str]]]]:
    """Its rows as texts for a table, page by page: the names of columns, and the cells."""
    from lochan.query.output.formats import table_pages as pages

    return pages(result.batches(), result.row)


def operators() -> list[str]:
    from lochan.query.syntax.parse import OPERATORS

    return list(OPERATORS)


def functions() -> list[str]:
    """With aggregates."""
    from lochan.query.functions import AGGREGATES, FUNCTIONS

    return [*AGGREGATES, *FUNCTIONS]
