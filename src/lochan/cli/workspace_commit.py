"""`lochan workspace commit`: a workspace becomes a commit of its branch, and is closed."""

from typing import Any

import click

from lochan.cli.commit_record import SHORT, commit_record, title
from lochan.cli.notes import notes
from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.workspace_record import named


@click.command("commit")
@click.argument("repository", metavar="REPO")
@click.argument("id", metavar="ID")
@click.option("-m", "--message", required=True, help="What was done, and why.")
@click.option("--all", "everything", is_flag=True, help="Everything, and not only what was added.")
@click.option("--meta", "--metadata", "metadata", multiple=True, metavar="KEY=VALUE", help="A note; may be repeated.")
@request_key
@format_option
def command(repository: str, id: str, message: str, everything: bool, metadata: tuple[str, ...], form: str) -> None:
    """Commit what was added to a workspace. With --all, everything in it; it goes on top of the branch.

    Where the branch has changed the same paths since, nothing is moved, and each of them is listed. What is not
    committed goes with the workspace.

    \b
    Example:
      lochan workspace commit demo 17-9f3a6c21 --all -m 'new prices'
    """
    uri, workspace = named(repository, id)
    said = notes(metadata)

    async def work(opened: Opened) -> dict[str, Any]:
        from lochan.cli.conflicts import conflicts_shown
        from lochan.cli.in_the_way import in_the_way_shown
        from lochan.versioning.commit import CommitRequest
        from lochan.versioning.workspaces.commit import BothChanged, commit

        async with conflicts_shown(form, BothChanged):
            with in_the_way_shown(form):
                made = await commit(
                    opened.repository,
                    workspace,
                    CommitRequest(message, said),
                    actor=opened.actor,
                    everything=everything,
                )
        return commit_record(*made)

    made = work_on(uri, work)
    if form == "json":
        show_record(made, form)
    else:
        click.echo(f"committed {made['id'][:SHORT]}: {printable(title(message))}")
