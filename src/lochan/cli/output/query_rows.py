"""Writes the rows of a query, and its statistics on stderr."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from lochan.cli.output.records import count_noun, printable, size
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.api.queries import Result, Stats

BINARY = ("parquet", "arrow")


def write_result(
    result: "Result", form: str | None, output: str | None, *, before: Callable[[], None] = lambda: None
) -> None:
    """Writes all rows as they come. `before` is called when the first ones are there. Ctrl-C ends the query itself."""
    form = form or _by_name(output) or ("table" if output is None and sys.stdout.isatty() else "ndjson")
    if form in BINARY and output is None and sys.stdout.isatty():
        raise Invalid(f"{form} is not for a terminal", hint="name a file with -o")
    with _interruptible(result), _sink(output) as sink:
        result.wait()
        before()
        _write(result, form, sink)


def _write(result: "Result", form: str, sink: IO[bytes]) -> None:
    if form != "table":
        result.write(form, sink)
        return
    from lochan.api.queries import table_pages
    from lochan.cli.output.records import echo_table, printable

    begun = False
    for names, rows in table_pages(result):
        shown = [[printable(cell) for cell in row] for row in rows]
        echo_table([printable(name) for name in names], shown, begun=begun)
        begun = True


def show_stats(stats: "Stats") -> None:
    lines = [
        f"rows      {stats.rows:,}",
        f"read      {stats.objects_read:,} of {stats.objects:,} objects, {size(stats.bytes_read)} of "
        f"{size(stats.bytes)}, {count_noun(stats.rows_read, 'row')}",
        *(f"skipped   {each.objects:,} objects, {size(each.bytes)}: {printable(each.why)}" for each in stats.skipped),
        f"engine    {stats.engine}, {stats.seconds:.3f} s",
    ]
    for line in lines:
        click.echo(line, err=True)


def _by_name(output: str | None) -> str | None:
    """Returns the format that the file's name suggests, or None."""
    endings = {".parquet": "parquet", ".arrow": "arrow", ".csv": "csv", ".json": "json", ".ndjson": "ndjson"}
    return None if output is None else endings.get(Path(output).suffix)


@contextmanager
def _sink(output: str | None) -> Iterator[IO[bytes]]:
    """Yields the file to write to. It gets its name when it is complete."""
    if output is None:
        yield sys.stdout.buffer
        return
    part = Path(f"{output}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(output)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _interruptible(result: "Result") -> Iterator[None]:
    def interrupt(*_: object) -> None:
        result.cancel()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
