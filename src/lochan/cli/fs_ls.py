"""`lochan fs ls`: the objects at a ref."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.listed import pages, view_of
from lochan.cli.object_record import object_record
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, size_cell
from lochan.cli.uri import prefix_uri
from lochan.errors import NotFound

if TYPE_CHECKING:
    from lochan.staging.view import View


@click.command("ls")
@click.argument("where", metavar="REPO[@REF][/PREFIX]")
@click.option("-r", "--recursive", is_flag=True, help="All objects, not only the next folders.")
@format_option
def command(where: str, recursive: bool, form: str) -> None:
    """List the objects whose paths begin with PREFIX; of a branch, with what is staged on it.

    \b
    Example:
      lochan fs ls demo@main/data/
    """
    uri = prefix_uri(where)

    async def work(opened: Opened) -> None:
        from lochan.cli.stream import show_stream

        view = await view_of(opened)
        if uri.path and not await _is_there(view, uri.path):
            raise NotFound(f"no object begins with {uri.path!r} at {opened.ref}").named(uri.path)
        records = _records(view, uri.path, "" if recursive else "/")
        await show_stream(records, form, columns=("size", "mtime", "path"), cells={"size": size_cell})

    work_on(uri, work)


async def _is_there(view: "View", prefix: str) -> bool:
    page = await view.list(prefix, limit=1)
    return bool(page.entries)


async def _records(view: "View", prefix: str, delimiter: str) -> AsyncIterator[dict[str, Any]]:
    async for page in pages(view, prefix, delimiter):
        found = [*map(object_record, page.entries), *map(_prefix_record, page.prefixes)]
        for record in sorted(found, key=lambda record: record["path"].encode()):
            yield record


def _prefix_record(prefix: str) -> dict[str, Any]:
    return {"path": prefix, "type": "prefix", "size": None, "mtime": None}
