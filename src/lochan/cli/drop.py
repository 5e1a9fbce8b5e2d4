"""`lochan drop`: a pool goes, once it is confirmed."""

from shlex import quote

import click

from lochan.cli.confirm import confirm
from lochan.cli.request_key import is_repeated, request_key
from lochan.cli.shown import format_option, printable, show_record
from lochan.errors import NotFound, Refused


@click.command("drop")
@click.argument("pool")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@request_key
@format_option
def command(pool: str, yes: bool, form: str) -> None:
    """Drop a pool: its rows, its branches, tags and history.

    On a terminal it asks first; in a script it wants --yes.

    \b
    Example:
      lochan drop logs
    """
    from lochan.cli.session import actor, configuration, open_lake, read, run

    config = configuration()

    async def look() -> None:
        from lochan.versioning.repositories import POOL

        async with open_lake(config) as lake:
            try:
                there = await lake.repository(pool)
            except NotFound:
                if is_repeated(click.get_current_context()):
                    return  # the journal knows whether this is the drop that was asked for before
                raise
            if there.kind != POOL:
                raise Refused(
                    f"{pool!r} is no pool", hint=f"`lochan repo delete {quote(pool)}` deletes a repository of files"
                )

    async def drop() -> None:
        async with open_lake(config) as lake:
            await lake.delete_repository(pool, actor=actor(config))

    read(config, look)  # so that nobody is asked about a name that is not there
    if not yes:
        confirm(f"Drop pool {pool} with all its history?", f"pool {pool} was not dropped")
    run(config, drop())
    if form == "json":
        show_record({"dropped": pool}, form)
    else:
        click.echo(f"dropped pool {printable(pool)}")
