"""`lochan auth policies show`: one policy."""

import click

from lochan.cli.auth_records import policy_record, words
from lochan.cli.auth_work import look
from lochan.cli.shown import echo_table, format_option, printable, show_record


@click.command("show")
@click.argument("name", metavar="POLICY")
@format_option
def command(name: str, form: str) -> None:
    """Show the policy POLICY, statement by statement.

    \b
    Example:
      lochan auth policies show Admin
    """
    record = look(lambda access: policy_record(access, access.policy(name)))
    if form == "json":
        show_record(record, form)
        return
    statements = record.pop("statements")
    show_record(words(record, "attached_to"), form)
    click.echo()
    echo_table(
        ["EFFECT", "ACTIONS", "RESOURCES"],
        [
            [each["effect"], *(printable(" ".join(each[key])) for key in ("actions", "resources"))]
            for each in statements
        ],
    )
