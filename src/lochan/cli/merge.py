"""`lochan merge`: what a ref changed comes to a branch."""

import click

from lochan.cli.commit_record import SHORT
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import Uri, branch_uri, ref_uri
from lochan.errors import Invalid


@click.command("merge")
@click.argument("source", metavar="REPO@SOURCE")
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.option("-m", "--message", default="", help="What the merge is to say.")
@click.option(
    "--strategy",
    type=click.Choice(["default", "source-wins", "dest-wins"]),
    default="default",
    show_default=True,
    help="What to do where both changed a path: stop, take the source's, or keep the branch's.",
)
@click.option("--squash", is_flag=True, help="One commit, without the source as its parent.")
@format_option
def command(source: str, branch: str, message: str, strategy: str, squash: bool, form: str) -> None:
    """Merge a ref into a branch.

    Where both changed the same path, each is listed (base, ours: the branch's, theirs: the source's), nothing is
    changed, and the exit code is 4.
    """
    into, from_ = branch_uri(branch), ref_uri(source)
    if into.repository != from_.repository:
        raise Invalid(f"{from_} and {into} are in different repositories", hint="merge within one repository")

    async def work(opened: Opened) -> str:
        from lochan.cli.conflicts import conflicts_shown
        from lochan.tree.strategy import Strategy
        from lochan.versioning.moving import Said, merge

        with conflicts_shown(form):
            return await merge(
                opened.repository,
                _source(opened, from_),
                opened.ref,
                Said(message),
                actor=opened.actor,
                strategy=Strategy(strategy),
                squash=squash,
            )

    head = work_on(into, work)
    if form == "json":
        show_record({"head": head}, form)
    else:
        click.echo(f"merged {printable(source)} into {printable(branch)}: {head[:SHORT]}")


def _source(opened: Opened, source: Uri) -> str:
    ref = opened.ref_of(source)
    if ref == opened.ref:
        raise Invalid(f"branch {ref!r} cannot be merged into itself", hint="name another source")
    return ref
