"""`lochan branch unprotect`: a rule goes."""

from typing import TYPE_CHECKING

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.protection_record import show_rules
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option
from lochan.cli.uri import repository_uri

if TYPE_CHECKING:
    from lochan.formats.repository_events import Protection


@click.command("unprotect")
@click.argument("repository", metavar="REPO")
@click.argument("pattern")
@request_key
@format_option
def command(repository: str, pattern: str, form: str) -> None:
    """Remove the rule of exactly that PATTERN. Those that are left are listed.

    \b
    Example:
      lochan branch unprotect demo 'release-*'
    """

    async def work(opened: Opened) -> "tuple[Protection, ...]":
        from lochan.versioning.branch_protection import unprotect

        return await unprotect(opened.repository, pattern, actor=opened.actor)

    show_rules(work_on(repository_uri(repository), work), form)
