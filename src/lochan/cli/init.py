"""`lochan init`: make a lake."""

import click

from lochan.cli.shown import format_option, printable, show_record
from lochan.errors import LochanError


@click.command("init")
@click.argument("location", metavar="[PATH-OR-URL]", required=False)
@format_option
def command(location: str | None, form: str) -> None:
    """Make a lake in a folder or on an object store.

    Without PATH-OR-URL the lake is made where --lake, LOCHAN_LAKE or the configuration says; failing these, in the
    folder .lochan here, which commands in this folder and below it then find by themselves.

    \b
    Example:
      lochan init s3://bucket/lake
    """
    from lochan.cli.session import configuration, create_lake, new_lake_place, run

    config = configuration(lake=location)
    found = new_lake_place(config)

    async def work() -> dict[str, str]:
        lake = await create_lake(config, found)
        try:
            return {"url": lake.url, "id": lake.id}
        finally:
            await lake.close()

    made = run(config, work())
    if form == "json":
        show_record(made, form)
        return
    click.echo(f"made a lake at {printable(made['url'])}")
    if not _is_found(found.url):
        click.echo(f"to use it: lochan --lake {printable(found.url)} …, or set LOCHAN_LAKE", err=True)


def _is_found(url: str) -> bool:
    """Whether a command without --lake would come to this lake. What is configured otherwise may name none at all."""
    from lochan.cli.session import configuration, lake_place

    try:
        return lake_place(configuration()).url == url
    except LochanError:
        return False
