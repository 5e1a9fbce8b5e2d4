"""Conflicts, listed before the error says how many there are: paths that both sides changed, or that have uncommitted
changes where a head would move over them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from lochan.cli.output.records import show_records, size
from lochan.errors import LochanError, PathsInTheWay

_COLUMNS = ("path", "base", "ours", "theirs")
_DIGITS = 8  # of a checksum, where a person compares three


@asynccontextmanager
async def listing_conflicts(form: str) -> AsyncIterator[None]:
    from lochan.api.conflicts import has_conflicts

    try:
        yield
    except LochanError as error:
        if has_conflicts(error):
            await _show(error, form)
        elif isinstance(error, PathsInTheWay):
            _show_in_the_way(error, form)
        raise


def _show_in_the_way(error: PathsInTheWay, form: str) -> None:
    if not error.keys:
        show_records([{"path": path} for path in error.paths], form, columns=("path",))
    elif form == "json":  # rows, which the message names too
        show_records([dict(each) for each in error.keys], form, columns=tuple(error.keys[0]))


async def _show(error: LochanError, form: str) -> None:
    from lochan.api.conflicts import conflicts_of
    from lochan.cli.output.record_stream import as_records, show_stream

    await show_stream(as_records(conflicts_of(error)), form, columns=_COLUMNS, cells=dict.fromkeys(_COLUMNS[1:], _cell))


def _cell(value: Any) -> str:
    return "none" if value is None else f"{size(value['size'])} {value['checksum'][:_DIGITS]}"
