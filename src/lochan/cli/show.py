"""`lochan show`: a commit, and what it changed."""

from collections.abc import AsyncIterator
from typing import Any

import click

from lochan.cli import pool_difference
from lochan.cli.commit_record import commit_record
from lochan.cli.difference_record import CELLS, COLUMNS, difference_record
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import given, ref_uri


@click.command("show")
@click.argument("ref", metavar="[REPO[@REF]]", required=False)
@format_option
def command(ref: str | None, form: str) -> None:
    """Show a commit and its differences from its first parent; of a pool, the data objects that came and went.

    \b
    Example:
      lochan show demo@main
    """

    async def work(opened: Opened) -> None:
        found = await opened.repository.resolve(opened.ref)
        record = commit_record(found.commit_id, found.commit)
        differences = _differences(opened, found.commit_id, found.commit.parents)
        columns, cells = (COLUMNS, CELLS) if not opened.is_pool else (pool_difference.COLUMNS, pool_difference.CELLS)
        if form == "json":
            show_record({**record, "differences": [each async for each in differences]}, form)
            return
        from lochan.cli.stream import show_stream

        _print({**record, "parents": " ".join(found.commit.parents)})
        await show_stream(differences, form, columns=columns, cells=cells)

    work_on(given(ref_uri, ref), work)


def _print(record: dict[str, Any]) -> None:
    message = record.pop("message")
    show_record(record, "table")
    click.echo()
    for line in message.splitlines():
        click.echo(f"    {printable(line)}")
    click.echo()


async def _differences(opened: Opened, id: str, parents: tuple[str, ...]) -> AsyncIterator[dict[str, Any]]:
    from lochan.versioning.diff import diff

    if not parents:
        return  # a first commit holds nothing
    differences = diff(opened.repository, parents[0], id)
    if opened.is_pool:
        async for record in pool_difference.object_records(differences, opened.pool):
            yield record
        return
    async for difference in differences:
        yield difference_record(difference)
