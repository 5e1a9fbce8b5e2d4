"""What `lochan ingest stream` prints: a line for each batch, and one at the end."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.error_boundary import print_message
from lochan.cli.output.records import SHORT, counted, printable, show_line, size
from lochan.cli.pool.load import say_unparsed
from lochan.cli.target import Uri

if TYPE_CHECKING:
    from lochan.api.streams import StreamBatch


class BatchPrinter:
    """`keeps`: lines that are no rows are kept as rows of their own."""

    def __init__(self, target: Uri, form: str, *, keeps: bool) -> None:
        self._target = target
        self._form = form
        self._keeps = keeps
        self._rows = self._commits = 0

    def __call__(self, number: int, batch: "StreamBatch") -> None:
        self._rows += batch.rows
        self._commits += bool(batch.rows)
        if self._form == "json":
            show_line(_record(number, batch))
            return
        for fault in batch.first_faults:
            print_message(str(fault), f"near {fault.near!r}" if fault.near else "")
        if batch.faults:
            done = "kept as rows with _error" if self._keeps else "left out"
            print_message(f"{batch.faults:,} line{' was' if batch.faults == 1 else 's were'} no row, and {done}")
        say_unparsed(batch.unparsed_times)
        if batch.again:
            click.echo(f"batch {number}: had landed before, commit {batch.commit[:SHORT]}")
        elif batch.commit:
            rows = f"{counted(batch.rows, 'row')}, {size(batch.size_bytes)}"
            click.echo(f"batch {number}: {rows}, commit {batch.commit[:SHORT]}")

    def end(self) -> None:
        if self._form != "json":
            many = f"{self._commits} commit{'' if self._commits == 1 else 's'}"
            click.echo(f"stopped: {counted(self._rows, 'row')} into {printable(str(self._target))} by {many}")


def _record(number: int, batch: "StreamBatch") -> dict[str, Any]:
    return {
        "batch": number,
        "commit": batch.commit or None,
        "rows": batch.rows,
        "objects": batch.objects,
        "bytes": batch.size_bytes,
        "errors": batch.faults,
        "first_errors": [str(fault) for fault in batch.first_faults],
        "unparsed_times": batch.unparsed_times,
        "again": batch.again,
    }
