"""`lochan log`: the history of a ref."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.commit_record import SHORT, commit_record, title
from lochan.cli.moments import microseconds
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, printable
from lochan.cli.uri import ref_uri

if TYPE_CHECKING:
    from lochan.versioning.differing import LogWish


@click.command("log")
@click.argument("ref", metavar="REPO[@REF]")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=None, metavar="N", help="At most N commits.")
@click.option("--path", "paths", multiple=True, metavar="PATH", help="Only commits that changed it; may be repeated.")
@click.option("--prefix", "prefixes", multiple=True, metavar="PREFIX", help="Only commits that changed what begins so.")
@click.option("--since", metavar="TIME", help="Only commits of that time or later, in ISO 8601.")
@click.option("--until", metavar="TIME", help="Only commits of that time or earlier.")
@click.option("--first-parent", is_flag=True, help="Leave out what came in by merges.")
@format_option
def command(
    ref: str,
    limit: int | None,
    paths: tuple[str, ...],
    prefixes: tuple[str, ...],
    since: str | None,
    until: str | None,
    first_parent: bool,
    form: str,
) -> None:
    """Show the commits that a ref is made of, youngest first."""
    uri = ref_uri(ref)
    times = microseconds("--since", since), microseconds("--until", until)

    async def work(opened: Opened) -> None:
        from lochan.cli.stream import show_stream
        from lochan.versioning.differing import LogWish

        wish = LogWish(paths, prefixes, *times, first_parent)
        await show_stream(
            _records(opened, wish, limit),
            form,
            columns=("id", "date", "author", "message"),
            cells={"id": lambda id: id[:SHORT], "message": lambda message: printable(title(message))},
        )

    work_on(uri, work)


async def _records(opened: Opened, wish: "LogWish", limit: int | None) -> AsyncIterator[dict[str, Any]]:
    from lochan.versioning.differing import history

    count = 0
    async for id, commit in history(opened.repository, opened.ref, wish):
        yield commit_record(id, commit)
        count += 1
        if count == limit:
            return
