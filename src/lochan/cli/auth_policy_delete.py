"""`lochan auth policies delete`: a policy that nobody has goes."""

import click

from lochan.cli.auth_work import OpenedAccess, change
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record


@click.command("delete")
@click.argument("name", metavar="POLICY")
@request_key
@format_option
def command(name: str, form: str) -> None:
    """Delete the policy POLICY. It is refused while the policy is attached to somebody.

    \b
    Example:
      lochan auth policies delete readers
    """

    async def work(opened: OpenedAccess) -> None:
        from lochan.access.policies import delete_policy

        await delete_policy(opened.access, name, actor=opened.actor)

    change(work)
    if form == "json":
        show_record({"name": name}, form)
    else:
        click.echo(f"deleted policy {printable(name)}")
