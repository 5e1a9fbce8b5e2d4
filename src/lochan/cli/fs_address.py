"""`lochan fs address`: a place in the lake for bytes that somebody puts there without us."""

from typing import Any

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, instant, show_record
from lochan.cli.uri import object_uri, on_branch


@click.command("address")
@click.argument("where", metavar="REPO[@BRANCH]/PATH")
@click.option(
    "--expires",
    type=click.FloatRange(min=0, min_open=True),
    default=24.0,
    show_default=True,
    metavar="HOURS",
    help="How long the token can be used.",
)
@request_key
@format_option
def command(where: str, expires: float, form: str) -> None:
    """Ask for an address in the lake to put bytes to. Another program can write there.

    When they are there, `lochan fs link --token TOKEN` makes them the object at PATH, once.

    \b
    Example:
      lochan fs address demo@main/data/a.csv
    """
    uri = on_branch(object_uri(where))

    async def work(opened: Opened) -> dict[str, Any]:
        from lochan.versioning.links import physical_address

        opened.needs_files()
        given = await physical_address(
            opened.repository, opened.ref, uri.path, actor=opened.actor, expires_s=expires * 3600
        )
        return {**given._asdict(), "expires": instant(given.expires)}

    show_record(work_on(uri, work), form)
