"""Paths with uncommitted changes that a head move would change, listed before the error says how many there are."""

from collections.abc import Iterator
from contextlib import contextmanager

from lochan.cli.shown import show_records
from lochan.errors import PathsInTheWay


@contextmanager
def in_the_way_shown(form: str) -> Iterator[None]:
    try:
        yield
    except PathsInTheWay as error:
        show_records([{"path": path} for path in error.paths], form, columns=("path",))
        raise
