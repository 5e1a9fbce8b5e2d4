"""`lochan auth users delete`: a user goes, with all its keys."""

import click

from lochan.cli.auth_work import OpenedAccess, change, look
from lochan.cli.confirm import confirm
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record


@click.command("delete")
@click.argument("name", metavar="USER")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@request_key
@format_option
def command(name: str, yes: bool, form: str) -> None:
    """Delete the user USER and revoke its keys. When this is answered they work nowhere any more.

    On a terminal it asks first; in a script it wants --yes.

    \b
    Example:
      lochan auth users delete ada
    """
    if not yes:
        keys = look(lambda access: len(access.keys_of(access.user(name).name)))
        confirm(f"Delete user {name} with {keys} access keys?", f"user {name} was not deleted")

    async def work(opened: OpenedAccess) -> None:
        from lochan.access.users import delete_user

        await delete_user(opened.access, name, actor=opened.actor)

    change(work)
    if form == "json":
        show_record({"name": name}, form)
    else:
        click.echo(f"deleted user {printable(name)}")
