"""`lochan auth users list`: every user."""

import click

from lochan.cli.auth_records import user_record, words
from lochan.cli.auth_work import look
from lochan.cli.shown import format_option, show_records


@click.command("list")
@format_option
def command(form: str) -> None:
    """List the users of the lake, by name.

    \b
    Example:
      lochan auth users list
    """
    records = look(lambda access: [user_record(access, user) for user in access.users()])
    if form != "json":
        records = [words(each, "policies") | {"keys": len(each["keys"])} for each in records]
    show_records(records, form, columns=("name", "policies", "keys", "created", "created_by"))
