"""`lochan auth policies list`: every policy."""

import click

from lochan.cli.auth_records import policy_record
from lochan.cli.auth_work import look
from lochan.cli.shown import format_option, show_records


@click.command("list")
@format_option
def command(form: str) -> None:
    """List the policies: first those that every lake has, then the lake's own.

    \b
    Example:
      lochan auth policies list
    """
    records = look(lambda access: [policy_record(access, each) for each in access.policies()])
    if form != "json":
        counted = ("attached_to", "statements")
        records = [{**each, **{name: len(each[name]) for name in counted}} for each in records]
    show_records(records, form, columns=("name", "ready", "statements", "attached_to", "changed", "changed_by"))
