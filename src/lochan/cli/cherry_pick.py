"""`lochan cherry-pick`: what one commit changed, once more on a branch."""

import click

from lochan.cli.commit_record import SHORT
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import branch_uri


@click.command("cherry-pick")
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.argument("ref")
@click.option("-m", "--message", default="", help="What the new commit is to say.")
@click.option("--parent", type=click.IntRange(min=1), default=1, metavar="N", help="Of a merge: against which parent.")
@format_option
def command(branch: str, ref: str, message: str, parent: int, form: str) -> None:
    """Do once more, with a new commit on a branch, what the commit REF changed."""

    async def work(opened: Opened) -> str:
        from lochan.cli.conflicts import conflicts_shown
        from lochan.versioning.moving import Said, cherry_pick

        with conflicts_shown(form):
            return await cherry_pick(
                opened.repository, opened.ref, ref, Said(message), actor=opened.actor, parent=parent
            )

    head = work_on(branch_uri(branch), work)
    if form == "json":
        show_record({"head": head}, form)
    else:
        click.echo(f"picked {printable(ref)}: {head[:SHORT]}")
