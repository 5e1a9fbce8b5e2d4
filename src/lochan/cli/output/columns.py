"""Prints results that are tables, perhaps of millions of rows, column by column and a page at a time. The output is
that of `show_records` and `show_stream` for the same rows, except for white space in JSON."""

import sys
from collections.abc import AsyncIterable, Callable, Mapping, Sequence

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.cli.output.record_stream import closing
from lochan.cli.output.records import echo_table, json_text, printable, size

Cells = Mapping[str, Callable[[pa.Array], pa.Array]]

_PAGE = 1 << 16
_LAID_OUT = 1 << 13  # rows of several tables that are laid out together
_UNITS = ("kB", "MB", "GB", "TB", "PB")
_ENDINGS = pa.array([" B"] * 10 + [f".{tenth} {unit}" for unit in _UNITS for tenth in range(10)])
# The same characters as in `printable`, without halves of surrogate pairs, which Arrow's texts do not contain.
_COMMANDING = r"[\x00-\x1f\x7f-\x{9f}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}]"


def show_columns(table: pa.Table, form: str, *, columns: Sequence[str], cells: Cells | None = None) -> None:
    """Prints a table of `columns` for people, or a JSON list of all of them. `cells` formats a column of numbers for
    people. REQUIRES: the other columns are texts or booleans."""
    if form == "json":
        echo_json(table)
        click.echo()
    else:
        echo_columns([column.upper() for column in columns], table.select(list(columns)), cells)


def echo_columns(titles: Sequence[str], table: pa.Table, cells: Cells | None = None) -> None:
    """Prints all columns of the table, under other titles."""
    pages = [_page(part, cells or {}) for part in _parts(table)]
    if sys.stdout.isatty():
        echo_table(titles, [row for page in pages for row in zip(*(each.to_pylist() for each in page), strict=True)])
        return
    widths = _widths(titles, pages)
    _echo_titles(titles, widths)
    _echo_pages(pages, widths)


def _widths(titles: Sequence[str], pages: Sequence[Sequence[pa.Array]]) -> list[int]:
    return [
        max([len(title), *(pc.max(pc.utf8_length(page[at])).as_py() for page in pages)])
        for at, title in enumerate(titles)
    ]


def _echo_titles(titles: Sequence[str], widths: Sequence[int]) -> None:
    click.echo("  ".join(f"{title:<{width}}" for title, width in zip(titles, widths, strict=True)).rstrip())


def _echo_pages(pages: Sequence[Sequence[pa.Array]], widths: Sequence[int]) -> None:
    for page in pages:
        padded = [pc.utf8_rpad(each, width) for each, width in zip(page[:-1], widths, strict=False)]
        _echo(_join(*padded, page[-1], between="  ", behind="\n"))


async def show_tables(tables: AsyncIterable[pa.Table], *, columns: Sequence[str], cells: Cells | None = None) -> None:
    """Prints tables that follow each other, like `show_columns`. Many rows are laid out together, and printed before
    the next ones come."""
    titles = [column.upper() for column in columns]
    lines = _Lines(titles, cells or {})
    held: list[pa.Table] = []
    async with closing(tables):
        async for table in tables:
            held.append(table.select(list(columns)))
            if sum(map(len, held)) >= _LAID_OUT:
                lines.echo(pa.concat_tables(held))
                held.clear()
    if held or not lines.begun:
        lines.echo(pa.concat_tables(held) if held else None)


class _Lines:
    """Lines of a table whose columns become wider, and never narrower."""

    def __init__(self, titles: Sequence[str], cells: Cells) -> None:
        self._titles = titles
        self._cells = cells
        self._widths = [*map(len, titles)]
        self.begun = False

    def echo(self, table: pa.Table | None) -> None:
        pages = [] if table is None else [_page(part, self._cells) for part in _parts(table)]
        if sys.stdout.isatty():
            rows = [row for page in pages for row in zip(*(each.to_pylist() for each in page), strict=True)]
            echo_table(self._titles, rows, begun=self.begun)
        else:
            self._widths = [max(pair) for pair in zip(self._widths, _widths(self._titles, pages), strict=True)]
            if not self.begun:
                _echo_titles(self._titles, self._widths)
            _echo_pages(pages, self._widths)
        self.begun = True
        sys.stdout.flush()


def echo_json(table: pa.Table, indent: int = 0) -> None:
    """Prints a list with an object of all columns for each row, one row on a line. The caller prints the text after
    it."""
    begin = "\n" + " " * (indent + 2)
    for number, part in enumerate(_parts(table)):
        pieces: list[pa.Array | str] = []
        for at, name in enumerate(part.schema.names):
            pieces += [f'{", " if at else "{"}"{name}": ', _json(part.column(name))]
        rows = _join(*pieces, between="", behind=f"}},{begin}")
        _echo(("," if number else "[") + begin + rows[: -len(f",{begin}")])
    _echo("\n" + " " * indent + "]" if len(table) else "[]")


def size_cells(sizes: pa.Array) -> pa.Array:
    """Returns the `size` of each number, and an empty text for a null."""
    numbers = sizes.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64)
    unit = np.zeros(len(numbers), np.int64)
    for _ in _UNITS:
        large = numbers >= 1000
        numbers[large] /= 1000
        unit[large] += 1
    tenths = np.rint(numbers * 10).astype(np.int64)
    endings = _ENDINGS.take(pa.array(unit * 10 + tenths % 10))
    cells = pc.binary_join_element_wise(pa.array(tenths // 10).cast(pa.string()), endings, "")
    # Halfway between two values, the product above may have been rounded differently than `size` rounds.
    close = np.flatnonzero(np.abs(numbers * 10 % 1 - 0.5) < 1e-6)
    if len(close):
        doubtful = sizes.take(pa.array(close)).fill_null(0)
        texts = {number: size(number) for number in np.unique(doubtful.to_numpy()).tolist()}
        exact = [texts[number] for number in doubtful.to_pylist()]
        cells = pc.replace_with_mask(cells, _mask(close, len(cells)), pa.array(exact, pa.string()))
    return pc.if_else(sizes.is_null(), "", cells) if sizes.null_count else cells


def time_cells(microseconds: pa.Array) -> pa.Array:
    """Returns times in RFC 3339, UTC, with microseconds, and an empty text for a null."""
    texts = np.datetime_as_string(
        microseconds.fill_null(0).to_numpy(zero_copy_only=False).astype("M8[us]"), timezone="UTC"
    )
    return pc.if_else(microseconds.is_null(), "", pa.array(texts))


def _page(part: pa.RecordBatch, cells: Cells) -> list[pa.Array]:
    return [cells[name](part.column(name)) if name in cells else _text(part.column(name)) for name in part.schema.names]


def _text(column: pa.Array) -> pa.Array:
    if pa.types.is_boolean(column.type):
        return pc.if_else(column, "yes", "no")
    return _escape(column, column, printable)


def _json(column: pa.Array) -> pa.Array:
    if not pa.types.is_string(column.type):
        return pc.fill_null(column.cast(pa.string()), "null")
    plain = pc.replace_substring(pc.replace_substring(column, "\\", "\\\\"), '"', '\\"')
    quoted = pc.binary_join_element_wise('"', plain, '"', "")
    return _escape(column, quoted, lambda text: json_text(text, indent=None))


def _escape(column: pa.Array, plain: pa.Array, escape: Callable[[str], str]) -> pa.Array:
    """Returns `plain`, except for the few texts with a character that must not be shown."""
    rows = np.flatnonzero(~pc.ascii_is_printable(column).to_numpy(zero_copy_only=False))
    rows = rows[pc.match_substring_regex(column.take(pa.array(rows)), _COMMANDING).to_numpy(zero_copy_only=False)]
    if not len(rows):
        return plain
    texts = pa.array([escape(text) for text in column.take(pa.array(rows)).to_pylist()])
    return pc.replace_with_mask(plain, _mask(rows, len(plain)), texts)


def _join(*pieces: pa.Array | str, between: str, behind: str) -> str:
    """Returns all rows of the pieces, end to end."""
    rows = pc.binary_join_element_wise(pc.binary_join_element_wise(*pieces, between), behind, "")
    _, offsets, data = rows.buffers()
    ends = np.frombuffer(offsets, np.int32)
    return str(memoryview(data)[ends[rows.offset] : ends[rows.offset + len(rows)]], "utf-8") if len(rows) else ""


def _mask(rows: np.ndarray[tuple[int], np.dtype[np.int64]], count: int) -> pa.Array:
    mask = np.zeros(count, np.bool_)
    mask[rows] = True
    return pa.array(mask)


def _parts(table: pa.Table) -> list[pa.RecordBatch]:
    parts: list[pa.RecordBatch] = table.combine_chunks().to_batches(max_chunksize=_PAGE)
    return parts


def _echo(text: str) -> None:
    """Prints bytes, because click would search a text for colours, which are already escaped."""
    click.echo(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace"), nl=False)
