"""`lochan auth users show`: one user."""

import click

from lochan.cli.auth_records import user_record, words
from lochan.cli.auth_work import look
from lochan.cli.shown import format_option, show_record


@click.command("show")
@click.argument("name", metavar="USER")
@format_option
def command(name: str, form: str) -> None:
    """Show the user USER: its policies, and the ids of its keys.

    \b
    Example:
      lochan auth users show ada
    """
    record = look(lambda access: user_record(access, access.user(name)))
    show_record(record if form == "json" else words(record, "policies", "keys"), form)
