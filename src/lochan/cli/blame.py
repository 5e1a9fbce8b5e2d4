"""`lochan blame`: which commit last changed an object."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.commit_record import SHORT, title
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, instant, printable
from lochan.cli.uri import prefix_uri

if TYPE_CHECKING:
    from lochan.versioning.blame import BlameRow

_PAGE = 100_000  # each is a walk through history


@click.command("blame")
@click.argument("uri", metavar="REPO[@REF]/PATH")
@format_option
def command(uri: str, form: str) -> None:
    """Show which commit last changed an object; with a path that ends with a slash, of each object below it.

    \b
    Example:
      lochan blame demo@main/data/a.csv
    """
    found = prefix_uri(uri)

    async def work(opened: Opened) -> None:
        from lochan.cli.stream import show_stream

        await show_stream(
            _records(opened, found.path),
            form,
            columns=("commit", "date", "author", "path", "message"),
            cells={"commit": lambda id: id[:SHORT], "message": lambda message: printable(title(message))},
        )

    work_on(found, work)


async def _records(opened: Opened, path: str) -> AsyncIterator[dict[str, Any]]:
    from lochan.versioning.blame import blame, blame_under

    if path and not path.endswith("/"):
        yield _record(await blame(opened.repository, opened.ref, path))
        return
    moment = (await opened.repository.resolve(opened.ref)).commit_id  # one for all pages
    after: str | None = ""
    while after is not None:
        page = await blame_under(opened.repository, moment, path, after, _PAGE)
        for each in page.entries:
            yield _record(each)
        after = page.next


def _record(blamed: "BlameRow") -> dict[str, Any]:
    commit = blamed.commit
    return {
        "path": blamed.path,
        "commit": blamed.commit_id,
        "date": instant(commit.date),
        "author": commit.author,
        "message": commit.message,
    }
