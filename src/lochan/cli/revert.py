"""`lochan revert`: a new commit takes back what an earlier one changed."""

import click

from lochan.cli.one_commit import commit_staged_option, make_commit, parent_option
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option


@click.command("revert")
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.argument("ref")
@click.option("-m", "--message", default="", help="What the new commit is to say.")
@parent_option
@commit_staged_option
@request_key
@format_option
def command(branch: str, ref: str, message: str, parent: int, commit_staged: str | None, form: str) -> None:
    """Take back what the commit REF changed, with a new commit.

    \b
    Example:
      lochan revert demo@main main~1
    """
    make_commit("reverted", "revert", branch, ref, message, parent, commit_staged, form)
