"""`lochan auth keys list`: a user's access keys."""

import click

from lochan.cli.auth_records import key_record
from lochan.cli.auth_work import look
from lochan.cli.shown import format_option, show_records


@click.command("list")
@click.argument("user")
@format_option
def command(user: str, form: str) -> None:
    """List the access keys of USER: the oldest first, without their secrets.

    \b
    Example:
      lochan auth keys list ada
    """
    records = look(lambda access: [key_record(key) for key in access.keys_of(access.user(user).name)])
    show_records(records, form, columns=("access_key_id", "created", "created_by"))
