"""`lochan workspace diff`: what a commit of a workspace would change."""

from typing import Any

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, show_records, size_cell
from lochan.cli.workspace_record import named


@click.command("diff")
@click.argument("repository", metavar="REPO")
@click.argument("id", metavar="ID")
@click.option("--prefix", default="", metavar="PREFIX", help="Only paths that begin so.")
@click.option("--added", is_flag=True, help="Only what fits the patterns that were added.")
@format_option
def command(repository: str, id: str, prefix: str, added: bool, form: str) -> None:
    """Show what a workspace changes, against the commit that it was opened on, and whether it was added."""
    uri, workspace = named(repository, id)

    async def work(opened: Opened) -> list[dict[str, Any]]:
        from lochan.versioning.workspaces.differing import diff

        found = await diff(opened.repository, workspace, prefix)
        return [_record(each._asdict()) for each in found if each.selected or not added]

    records = work_on(uri, work)
    if form != "json":
        records = [{**each, **{side: size_cell(each[side]) for side in ("before", "after")}} for each in records]
    show_records(records, form, columns=("kind", "before", "after", "added", "path"))


def _record(change: dict[str, Any]) -> dict[str, Any]:
    return {**{key: change[key] for key in ("path", "kind", "before", "after")}, "added": change["selected"]}
