"""Prints the output of commands: tables on a terminal, aligned text in a pipe, JSON on request, and never control
characters.

A name may contain any character. Those that would move the cursor, colour the screen or turn the text around are
written as escapes, in tables and in JSON alike."""

import re
import sys
from collections.abc import AsyncIterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from lochan.config.kinds import size_text

if TYPE_CHECKING:
    from lochan.api.results import Result

Record = Mapping[str, Any]
SHORT = 12  # the number of digits of a commit's id that a person is shown
size = size_text

# Control characters, separators of lines and paragraphs, those that change the direction of text, and halves of
# surrogate pairs (which stand for bytes that are not UTF-8).
_COMMANDING = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    return _COMMANDING.sub(_escape, text)


async def all_records(found: "AsyncIterable[Result]") -> list[dict[str, Any]]:
    return [each.as_json() async for each in found]


def show_records(records: Sequence[Record], form: str, *, columns: Sequence[str]) -> None:
    """Prints many records as a table of `columns`, or as a JSON list with all fields."""
    if form == "json":
        _echo_json(list(records), indent=2)
    else:
        echo_table([column.upper() for column in columns], [[cell(each[key]) for key in columns] for each in records])


def show_record(record: Record, form: str) -> None:
    """Prints one record as lines of its fields, or as a JSON object."""
    if form == "json":
        _echo_json(record, indent=2)
    elif sys.stdout.isatty():
        from lochan.cli.output.terminal_table import echo_fields

        echo_fields([(key, cell(value)) for key, value in record.items()])
    else:
        width = max(map(len, record))
        for key, value in record.items():
            click.echo(f"{key:<{width}}  {cell(value)}".rstrip())


def show_answer(record: Record, form: str, text: str) -> None:
    """Prints what a command has done: a JSON object on request, and otherwise a line for people."""
    if form == "json":
        show_record(record, form)
    else:
        click.echo(text)


def show_line(record: Record) -> None:
    """Prints one JSON object on one line, at once, as an element of a stream."""
    _echo_json(record, indent=None)


def count_noun(count: int, noun: str) -> str:
    """Returns a count with its noun: `1 row`, `2,000 rows`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return " ".join(f"{printable(str(key))}={_inner(item)}" for key, item in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(cell, value))
    return printable(str(value))


def _inner(value: object) -> str:
    return f"{{{cell(value)}}}" if isinstance(value, Mapping) else cell(value)


def instant(microseconds: int) -> str:
    """Returns a moment in UTC, as ISO 8601."""
    from datetime import UTC, datetime, timedelta

    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
    except OverflowError:
        return f"{microseconds}us"
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def size_cell(size_bytes: int | None) -> str:
    return "" if size_bytes is None else size(size_bytes)


def _echo_json(value: object, *, indent: int | None) -> None:
    click.echo(json_text(value, indent=indent))


def json_text(value: object, *, indent: int | None) -> str:
    import json

    text = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    # What json itself leaves as it is can only be inside strings, where \uXXXX means the same. Its own line breaks are
    # between the values, and stay.
    return _COMMANDING.sub(lambda match: "\n" if match[0] == "\n" else f"\\u{ord(match[0]):04x}", text)


def echo_table(titles: Sequence[str], rows: Sequence[Sequence[str]], *, begun: bool = False) -> None:
    """Prints a table. With `begun`, it continues, and its titles were printed before."""
    if sys.stdout.isatty():
        from lochan.cli.output.terminal_table import echo_rows

        echo_rows(titles, rows, begun=begun)
        return
    lines = [*rows] if begun else [titles, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = ("  ".join(f"{text:<{width}}" for text, width in zip(line, widths, strict=True)) for line in lines)
    if lines:
        click.echo("\n".join(map(str.rstrip, texts)))  # at once, because each echo is a separate write


def title(message: str) -> str:
    return message.partition("\n")[0]
