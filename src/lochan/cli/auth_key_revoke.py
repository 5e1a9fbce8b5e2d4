"""`lochan auth keys revoke`: an access key works no more."""

import click

from lochan.cli.auth_work import OpenedAccess, change, look
from lochan.cli.confirm import confirm
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record


@click.command("revoke")
@click.argument("id", metavar="KEY-ID")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@request_key
@format_option
def command(id: str, yes: bool, form: str) -> None:
    """Revoke the access key KEY-ID. When this is answered, no server lets it in any more.

    On a terminal it asks first; in a script it wants --yes.

    \b
    Example:
      lochan auth keys revoke LKIAAAAAAAAAAAAAAAAA
    """
    if not yes:
        confirm(f"Revoke access key {id} of {look(lambda access: access.need_key(id).user)}?", f"{id} was not revoked")

    async def work(opened: OpenedAccess) -> None:
        from lochan.access.keys import revoke_key

        await revoke_key(opened.access, id, actor=opened.actor)

    change(work)
    if form == "json":
        show_record({"access_key_id": id}, form)
    else:
        click.echo(f"revoked access key {printable(id)}")
