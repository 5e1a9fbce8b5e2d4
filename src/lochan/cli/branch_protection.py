"""`lochan branch protection`: the rules there are."""

from typing import TYPE_CHECKING

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.protection_record import show_rules
from lochan.cli.shown import format_option
from lochan.cli.uri import repository_uri

if TYPE_CHECKING:
    from lochan.formats.repository_events import Protection


@click.command("protection")
@click.argument("repository", metavar="REPO")
@format_option
def command(repository: str, form: str) -> None:
    """List the rules that protect branches of REPO.

    \b
    Example:
      lochan branch protection demo
    """

    async def work(opened: Opened) -> "tuple[Protection, ...]":
        from lochan.versioning.branch_protection import protections

        return await protections(opened.repository)

    show_rules(work_on(repository_uri(repository), work), form)
