"""`lochan bisect reset`: forgets a bisection."""

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import repository_uri


@click.command("reset")
@click.argument("repository", metavar="REPO")
@format_option
def command(repository: str, form: str) -> None:
    """End a bisection, and forget what was said.

    \b
    Example:
      lochan bisect reset demo
    """
    from lochan.cli.bisecting import forget, under_way

    async def work(opened: Opened) -> bool:
        was = under_way(opened)
        forget(opened)
        return was

    was = work_on(repository_uri(repository), work)
    if form == "json":
        show_record({"was_under_way": was}, form)
    else:
        click.echo(f"no bisection of {printable(repository)} is under way{' any more' if was else ''}")
