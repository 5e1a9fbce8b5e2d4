"""Prints tables on a terminal. No line is wider than the terminal, and nothing is left out. A cell that is too long
continues in the next line. If there are more columns than fit side by side, each row becomes a block of lines, one for
each field."""

import sys
from collections.abc import Iterable, Sequence
from shutil import get_terminal_size

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

# The first word of a line that shows a difference or the result of a check.
_COLOURS = {"added": "green", "removed": "red", "changed": "yellow", "ok": "green", "warn": "yellow", "fail": "red"}
_WIDTH_MIN = 8  # the least width of a column that is narrower than its cells; below that it is unreadable
_GAP = 2


def echo_rows(titles: Sequence[str], rows: Sequence[Sequence[str]], *, begun: bool = False) -> None:
    """Prints rows. With `begun`, the table continues, and its titles were printed before."""
    console = _console()
    natural = [max(map(cell_len, column)) for column in zip(*([] if begun else [titles]), *rows, strict=True)]
    prose = [any(map(_has_words, column)) for column in zip(*rows, strict=True)] or [False] * len(natural)
    widths = fit_widths(natural, prose, console.width)
    if widths is None:
        _echo_blocks(console, titles, rows)
    else:
        console.print(_table(widths, None if begun else titles, rows))


def echo_fields(fields: Sequence[tuple[str, str]]) -> None:
    """Prints the fields of one record, one on each line."""
    console = _console()
    names = max(cell_len(name) for name, _ in fields)
    rest = max(console.width - names - _GAP, 1)
    console.print(_table([names, rest], None, fields, coloured=False))


class TableLines:
    """A table whose rows are printed one by one, in columns as wide as the widest so far."""

    def __init__(self, titles: Sequence[str]) -> None:
        self._titles = titles
        self._natural = list(map(cell_len, titles))
        self._prose = [False] * len(titles)
        self._begun = False

    def echo(self, row: Sequence[str]) -> None:
        console = _console()
        self._natural = [max(width, cell_len(text)) for width, text in zip(self._natural, row, strict=True)]
        self._prose = [before or _has_words(text) for before, text in zip(self._prose, row, strict=True)]
        widths = fit_widths(self._natural, self._prose, console.width)
        if widths is None:
            _echo_blocks(console, self._titles, [row])
        else:
            console.print(_table(widths, None if self._begun else self._titles, [row]))
        self._begun = True


def _console() -> Console:
    """Returns a console of the width that COLUMNS or the terminal gives, because rich would take 80 columns for any
    dumb terminal."""
    size = get_terminal_size()
    return Console(file=sys.stdout, width=size.columns, height=size.lines)


def fit_widths(natural: Sequence[int], prose: Sequence[bool], width: int) -> list[int] | None:
    """Returns how wide each column may be, or None if even the narrowest ones do not fit. Columns of several words
    become narrower first, and of them the widest, because an id or a time that is broken can no longer be copied."""
    room = width - _GAP * (len(natural) - 1)
    if sum(min(each, _WIDTH_MIN) for each in natural) > room:
        return None
    widths = list(natural)
    while sum(widths) > room:
        wide = [at for at, each in enumerate(widths) if each > _WIDTH_MIN]
        widest = max([at for at in wide if prose[at]] or wide, key=lambda at: widths[at])
        widths[widest] -= 1
    return widths


def _has_words(text: str) -> bool:
    return " " in text


def _table(
    widths: Sequence[int], titles: Sequence[str] | None, rows: Iterable[Sequence[str]], *, coloured: bool = True
) -> Table:
    table = Table(
        box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold", show_header=titles is not None
    )
    for number, width in enumerate(widths):
        # Text is used because a name in [brackets] is not markup.
        table.add_column(Text(titles[number]) if titles else "", width=max(width, 1), overflow="fold")
    for row in rows:
        kind = _COLOURS.get(row[0].rstrip(), "") if coloured else ""
        table.add_row(Text(row[0], kind), *map(Text, row[1:]))
    return table


def _echo_blocks(console: Console, titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    for row in rows:
        echo_fields([(title, text) for title, text in zip(titles, row, strict=True) if text] or [(titles[0], "")])
        console.print()
