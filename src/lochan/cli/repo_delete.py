"""`lochan repo delete`: a repository goes, once it is confirmed."""

import click

from lochan.cli.confirm import confirm
from lochan.cli.request_key import is_repeated, request_key
from lochan.cli.shown import format_option, printable, show_record


@click.command("delete")
@click.argument("name", metavar="REPO")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@request_key
@format_option
def command(name: str, yes: bool, form: str) -> None:
    """Delete the repository REPO: its branches, tags and history.

    On a terminal it asks first; in a script it wants --yes.

    \b
    Example:
      lochan repo delete demo
    """
    from lochan.cli.session import actor, configuration, open_lake, read, run

    config = configuration()

    async def look() -> None:
        async with open_lake(config) as lake:
            await lake.repository(name)

    async def delete() -> None:
        async with open_lake(config) as lake:
            await lake.delete_repository(name, actor=actor(config))

    if not yes and not is_repeated(click.get_current_context()):
        read(config, look)  # so that nobody is asked about a name that is not there
    if not yes:
        confirm(f"Delete repository {name} with all its history?", f"repository {name} was not deleted")
    run(config, delete())
    if form == "json":
        show_record({"deleted": name}, form)
    else:
        click.echo(f"deleted repository {printable(name)}")
