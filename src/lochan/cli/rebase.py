"""`lochan rebase`: what a branch has of its own, done once more on top of another ref."""

import click

from lochan.cli.commit_record import SHORT
from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import branch_uri, ref_uri
from lochan.errors import Invalid


@click.command("rebase")
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.argument("onto", metavar="REPO@ONTO")
@request_key
@format_option
def command(branch: str, onto: str, form: str) -> None:
    """Replay the commits of a branch on top of another ref. These are the commits that BRANCH has and ONTO has not;
    BRANCH is moved there.

    \b
    Example:
      lochan rebase demo@dev demo@main
    """
    one, other = branch_uri(branch), ref_uri(onto)
    if one.repository != other.repository:
        raise Invalid(f"{one} and {other} are in different repositories", hint="a branch stays in its repository")

    async def work(opened: Opened) -> None:
        from lochan.cli.conflicts import conflicts_shown
        from lochan.versioning.rebase import rebase

        async with conflicts_shown(form):
            done = await rebase(opened.repository, opened.ref, opened.ref_of(other), actor=opened.actor)
        if form == "json":
            show_record(done._asdict(), form)
        else:
            dropped = f", {done.dropped} dropped" if done.dropped else ""
            replayed = "" if done.replayed is None else f": {done.replayed} commits replayed{dropped}"
            click.echo(f"rebased {printable(opened.ref)}{replayed}: {done.head[:SHORT]}")

    work_on(one, work)
