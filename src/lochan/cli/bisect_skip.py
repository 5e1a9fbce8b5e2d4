"""`lochan bisect skip`: says that a commit cannot be tested."""

import click

from lochan.cli.shown import format_option


@click.command("skip")
@click.argument("ref", metavar="REPO[@REF]")
@format_option
def command(ref: str, form: str) -> None:
    """Say that a commit cannot be tested: the one under test, or the one that is named.

    \b
    Example:
      lochan bisect skip demo
    """
    from lochan.cli.bisecting import say

    say(ref, "skip", form)
