"""`lochan workspace diff`: what a commit of a workspace would change."""

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option
from lochan.cli.workspace_record import named


@click.command("diff")
@click.argument("repository", metavar="REPO")
@click.argument("id", metavar="ID")
@click.option("--prefix", default="", metavar="PREFIX", help="Only paths that begin so.")
@click.option("--added", is_flag=True, help="Only what fits the patterns that were added.")
@format_option
def command(repository: str, id: str, prefix: str, added: bool, form: str) -> None:
    """Show what a workspace changes: against the commit that it was opened on, and whether it was added.

    \b
    Example:
      lochan workspace diff demo 17-9f3a6c21
    """
    uri, workspace = named(repository, id)

    async def work(opened: Opened) -> None:
        from lochan.cli.columns import show_columns, size_cells
        from lochan.versioning.workspaces.selection import diff_columns

        table = await diff_columns(opened.repository, workspace, prefix)
        table = (table.filter(table["selected"]) if added else table).rename_columns({"selected": "added"})
        cells = {"before": size_cells, "after": size_cells}
        show_columns(table, form, columns=("kind", "before", "after", "added", "path"), cells=cells)

    work_on(uri, work)
