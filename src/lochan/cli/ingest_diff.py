"""`lochan ingest diff`: what an ingest would change now."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.ingest_places import gathered, ingest_uri, places
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, size_cell

if TYPE_CHECKING:
    from lochan.versioning.import_ import ImportPlan


@click.command("diff")
@places
@format_option
def command(source: str, target: str, keep_removed: bool, form: str) -> None:
    """Show what `ingest commit` would add, change and remove now.

    \b
    Example:
      lochan ingest diff --from-path s3://bucket/data/ --to-path demo@main/data/
    """
    uri = ingest_uri(target)

    async def work(opened: Opened) -> None:
        from lochan.cli.stream import show_stream

        found = await gathered(opened, source, uri, keep_removed=keep_removed, bar=form != "json")
        cells = {"before": size_cell, "after": size_cell}
        await show_stream(_records(opened, found), form, columns=("kind", "before", "after", "path"), cells=cells)

    work_on(uri, work)


async def _records(opened: Opened, found: "ImportPlan") -> AsyncIterator[dict[str, Any]]:
    from lochan.tree.diff import REMOVED
    from lochan.versioning.import_ import differences

    async for part in differences(opened.repository, opened.ref, found):
        columns = (part.changes["path"], part.kinds, part.before, part.changes["size"])
        for path, kind, before, after in zip(*(column.to_pylist() for column in columns), strict=True):
            yield {"path": path, "kind": kind, "before": before, "after": None if kind == REMOVED else after}
