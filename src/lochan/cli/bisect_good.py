"""`lochan bisect good`: says that a commit is good."""

import click

from lochan.cli.shown import format_option


@click.command("good")
@click.argument("ref", metavar="REPO[@REF]")
@format_option
def command(ref: str, form: str) -> None:
    """Say that a commit is good: the one under test, or the one that is named.

    \b
    Example:
      lochan bisect good demo
    """
    from lochan.cli.bisecting import say

    say(ref, "good", form)
