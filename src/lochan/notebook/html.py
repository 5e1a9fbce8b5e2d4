"""Tables and text as HTML for notebooks.

Names, messages and values can come from any writer of the lake. All are escaped, and invisible characters are shown by
their codes, so that no value can end its cell, load something or turn the text around.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any, NamedTuple

CELL_CHARS_MAX = 200
COLUMNS_MAX = 50

_COLOURS = {"added": "#1a7f37", "removed": "#cf222e", "changed": "#9a6700"}
_CELL = "text-align:left;white-space:pre-wrap;vertical-align:top"


class HtmlRow(NamedTuple):
    cells: Sequence[Any]
    kind: str = ""  # added, removed, changed: the row has its colour


def table(columns: Sequence[str], rows: Iterable[HtmlRow], *, caption: str = "", note: str = "") -> str:
    """Returns the table as HTML. `note` is shown below it, such as that there are more rows."""
    shown = columns[:COLUMNS_MAX]
    head = "".join(f'<th style="text-align:left">{text(name)}</th>' for name in shown)
    body = "".join(_row(row) for row in rows)
    left_out = len(columns) - len(shown)
    notes = [note] * bool(note) + [f"and {left_out} more columns"] * bool(left_out)
    return (
        "<div>"
        + (f"<div><b>{text(caption)}</b></div>" if caption else "")
        + f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        + "".join(f"<div><i>{text(each)}</i></div>" for each in notes)
        + "</div>"
    )


def _row(row: HtmlRow) -> str:
    colour = _COLOURS.get(row.kind, "")
    style = f"{_CELL};color:{colour}" if colour else _CELL
    return "<tr>" + "".join(f'<td style="{style}">{text(each)}</td>' for each in row.cells[:COLUMNS_MAX]) + "</tr>"


def preformatted_block(lines: Iterable[str], *, note: str = "") -> str:
    """Returns the lines as a block. REQUIRES: the lines are HTML."""
    below = f"<div><i>{text(note)}</i></div>" if note else ""
    return f'<div><pre style="line-height:1.2">{chr(10).join(lines)}</pre>{below}</div>'


def text(value: Any, limit: int = CELL_CHARS_MAX) -> str:
    """Returns a value of any kind, escaped, and cut if it is long."""
    found = "".join(each if each.isprintable() else _code(each) for each in plain(value, limit + 1)[: limit + 1])
    return escape(found if len(found) <= limit else found[:limit] + "…")


def plain(value: Any, limit: int = CELL_CHARS_MAX) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case datetime():
            return value.isoformat(sep=" ", timespec="seconds").replace("+00:00", "Z")
        case bool():
            return "yes" if value else "no"
        case Mapping():
            return ", ".join(f"{key}={plain(each)}" for key, each in list(value.items())[:limit])
        case list() | tuple():
            return ", ".join(plain(each) for each in value[:limit])
    return str(value)


def _code(character: str) -> str:
    return character.encode("unicode_escape").decode()
