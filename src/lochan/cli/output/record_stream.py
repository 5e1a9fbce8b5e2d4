"""Prints long answers as they come: a table in pages, or a JSON list item by item."""

import sys
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lochan.cli.output.records import Record, cell, echo_table, json_text

if TYPE_CHECKING:
    from lochan.api.results import Result
    from lochan.cli.output.terminal_table import TableLines

_PAGE = 1_000  # rows that are laid out together

Cells = Mapping[str, Callable[[Any], str]]
T = TypeVar("T")


@asynccontextmanager
async def closing(items: AsyncIterable[T]) -> AsyncIterator[AsyncIterable[T]]:
    """Closes the source before the lake is closed, even if the reader of our output leaves early."""
    try:
        yield items
    finally:
        close = getattr(items, "aclose", None)
        if close is not None:
            await close()


async def as_records(results: AsyncIterable["Result"]) -> AsyncIterator[Record]:
    async with closing(results):
        async for each in results:
            yield each.as_json()


async def show_stream(
    records: AsyncIterable[Record], form: str, *, columns: Sequence[str], cells: Cells | None = None
) -> int:
    """Prints records. Returns their number. `cells` formats columns for people, if not as in JSON."""
    async with closing(records):
        if form == "json":
            return await _show_json(records)
        return await _show_table(records, columns, cells or {})


def show_page(records: Sequence[Record], form: str, *, columns: Sequence[str], cells: Cells | None = None) -> None:
    """Prints what `show_stream` would, for records that are already there."""
    if form == "json":
        lines = ",\n  ".join(json_text(each, indent=None) for each in records)
        click.echo(f"[\n  {lines}\n]" if records else "[]")
    else:
        echo_table([column.upper() for column in columns], [_row(each, columns, cells or {}) for each in records])


async def show_lines(
    records: AsyncIterable[Record], form: str, *, columns: Sequence[str], cells: Cells | None = None
) -> int:
    """Prints records like `show_stream`, for rows that come slowly. Each row is printed at once, in columns as wide as
    the widest so far."""
    async with closing(records):
        return await (_show_json(records) if form == "json" else _show_each(records, columns, cells or {}))


async def _show_each(records: AsyncIterable[Record], columns: Sequence[str], cells: Cells) -> int:
    count = 0
    titles = [column.upper() for column in columns]
    widths = list(map(len, titles))
    lines = _on_terminal(titles)
    async for record in records:
        row = _row(record, columns, cells)
        if lines is not None:
            lines.echo(row)
            count += 1
            continue
        widths = [max(width, len(text)) for width, text in zip(widths, row, strict=True)]
        for line in (titles, row) if not count else (row,):
            click.echo("  ".join(f"{text:<{width}}" for text, width in zip(line, widths, strict=True)).rstrip())
        count += 1
    if not count:
        click.echo("  ".join(titles))
    return count


def _on_terminal(titles: Sequence[str]) -> "TableLines | None":
    if not sys.stdout.isatty():
        return None
    from lochan.cli.output.terminal_table import TableLines

    return TableLines(titles)


def _row(record: Record, columns: Sequence[str], cells: Cells) -> list[str]:
    return [cells.get(key, cell)(record[key]) for key in columns]


async def _show_json(records: AsyncIterable[Record]) -> int:
    count = 0
    async for record in records:
        click.echo(("[\n  " if count == 0 else ",\n  ") + json_text(record, indent=None), nl=False)
        count += 1
    click.echo("\n]" if count else "[]")
    return count


async def _show_table(records: AsyncIterable[Record], columns: Sequence[str], cells: Cells) -> int:
    count = 0
    titles = [column.upper() for column in columns]
    begun = False
    page: list[list[str]] = []
    async for record in records:
        page.append(_row(record, columns, cells))
        count += 1
        if len(page) == _PAGE:
            echo_table(titles, page, begun=begun)
            sys.stdout.flush()
            begun, page = True, []
    if page or not begun:
        echo_table(titles, page, begun=begun)
    return count
