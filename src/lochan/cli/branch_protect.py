"""`lochan branch protect`: what may not be done to branches whose names fit a pattern."""

from typing import TYPE_CHECKING

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.protection_record import show_rules
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option
from lochan.cli.uri import repository_uri

if TYPE_CHECKING:
    from lochan.formats.repository_events import Protection

ACTIONS = ("stage", "commit", "rewrite")


@click.command("protect")
@click.argument("repository", metavar="REPO")
@click.argument("pattern")
@click.option(
    "--block",
    "blocked",
    multiple=True,
    type=click.Choice(ACTIONS),
    help="What is blocked; may be repeated. All of it unless told.",
)
@request_key
@format_option
def command(repository: str, pattern: str, blocked: tuple[str, ...], form: str) -> None:
    """Protect branches whose names fit PATTERN. In it * and ? stand for any letters.

    stage: no writes to it; commit: no commits, imports and workspaces' commits; rewrite: no reset to another commit, no
    rebase, no new name, no deletion. Merges, reverts and cherry-picks stay possible.

    \b
    Example:
      lochan branch protect demo 'release-*'
    """

    async def work(opened: Opened) -> "tuple[Protection, ...]":
        from lochan.versioning.branch_protection import protect

        return await protect(opened.repository, pattern, blocked or ACTIONS, actor=opened.actor)

    show_rules(work_on(repository_uri(repository), work), form)
