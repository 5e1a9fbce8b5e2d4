"""`lochan workspace revert`: changes of a workspace go."""

import click

from lochan.cli.confirm import confirm
from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.workspace_record import named


@click.command("revert")
@click.argument("repository", metavar="REPO")
@click.argument("id", metavar="ID")
@click.argument("globs", nargs=-1, metavar="[GLOB]...")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@request_key
@format_option
def command(repository: str, id: str, globs: tuple[str, ...], yes: bool, form: str) -> None:
    """Take back what fits one of the globs, or everything: files are hidden, deletions forgotten.

    On a terminal it asks first; in a script it wants --yes.

    \b
    Example:
      lochan workspace revert demo 17-9f3a6c21 'data/*.csv'
    """
    uri, workspace = named(repository, id)
    if not yes:
        what = _named(globs)
        confirm(f"Revert {what} in workspace {workspace}?", f"workspace {workspace} was not reverted")

    async def work(opened: Opened) -> int | None:
        from lochan.versioning.workspaces.selection import EVERYTHING, revert

        return await revert(opened.repository, workspace, globs or EVERYTHING, actor=opened.actor)

    count = work_on(uri, work)
    if form == "json":
        show_record({"reverted": count}, form)
    else:
        what = _named(globs) if count is None else f"{count} path{'' if count == 1 else 's'}"
        click.echo(f"reverted {printable(what)}")


def _named(globs: tuple[str, ...]) -> str:
    return " ".join(globs) if globs else "everything"
