"""`lochan bisect bad`: says that a commit is bad."""

import click

from lochan.cli.shown import format_option


@click.command("bad")
@click.argument("ref", metavar="REPO[@REF]")
@format_option
def command(ref: str, form: str) -> None:
    """Say that a commit is bad: the one under test, or the one that is named.

    \b
    Example:
      lochan bisect bad demo
    """
    from lochan.cli.bisecting import say

    say(ref, "bad", form)
