"""`lochan auth users create`: a new user."""

from typing import Any

import click

from lochan.cli.auth_records import user_record
from lochan.cli.auth_work import OpenedAccess, change
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record


@click.command("create")
@click.argument("name")
@request_key
@format_option
def command(name: str, form: str) -> None:
    """Create the user NAME. Nothing is allowed to it until a policy is attached.

    \b
    Example:
      lochan auth users create ada
    """

    async def work(opened: OpenedAccess) -> dict[str, Any]:
        from lochan.access.users import create_user

        user = await create_user(opened.access, name, actor=opened.actor)
        return user_record(opened.access.folded(), user)

    record = change(work)
    if form == "json":
        show_record(record, form)
    else:
        click.echo(f"created user {printable(name)}")
