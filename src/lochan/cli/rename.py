"""`lochan rename`: another name for a pool or a repository."""

import click

from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record


@click.command("rename")
@click.argument("name", metavar="REPO")
@click.argument("to")
@request_key
@format_option
def command(name: str, to: str, form: str) -> None:
    """Rename the pool or repository REPO to TO. All that it holds stays as it is, its history too.

    \b
    Example:
      lochan rename logs web-logs
    """
    from lochan.cli.session import actor, configuration, open_lake, run

    config = configuration()

    async def work() -> None:
        async with open_lake(config) as lake:
            await lake.rename_repository(name, to, actor=actor(config))

    run(config, work())
    if form == "json":
        show_record({"name": to, "before": name}, form)
    else:
        click.echo(f"renamed {printable(name)} to {printable(to)}")
