"""`lochan cherry-pick`: what one commit changed, once more on a branch."""

import click

from lochan.cli.one_commit import commit_staged_option, make_commit, parent_option
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option


@click.command("cherry-pick")
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.argument("ref")
@click.option("-m", "--message", default="", help="What the new commit is to say.")
@parent_option
@commit_staged_option
@request_key
@format_option
def command(branch: str, ref: str, message: str, parent: int, commit_staged: str | None, form: str) -> None:
    """Apply what the commit REF changed to a branch, as a new commit.

    \b
    Example:
      lochan cherry-pick demo@main dev~1
    """
    make_commit("picked", "cherry_pick", branch, ref, message, parent, commit_staged, form)
