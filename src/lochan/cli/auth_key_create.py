"""`lochan auth keys create`: a new access key, whose secret is shown this once."""

import sys
from typing import TYPE_CHECKING

import click

from lochan.cli.auth_work import OpenedAccess, change
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, show_record
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.access.keys import Credentials


@click.command("create")
@click.argument("user")
@click.option("--access-key-id", "id", metavar="ID", help="The key's id; drawn unless told.")
@click.option(
    "--secret-access-key",
    "secret",
    metavar="SECRET",
    help="Its secret, or - to read it from standard input, which no list of processes shows; drawn unless told.",
)
@request_key
@format_option
def command(user: str, id: str | None, secret: str | None, form: str) -> None:
    """Create an access key for USER. The secret is shown now, and never again.

    \b
    Example:
      lochan auth keys create ada
    """
    id = _given(id, "id")
    secret = _given(sys.stdin.readline().rstrip("\r\n") if secret == "-" else secret, "secret")

    async def work(opened: OpenedAccess) -> "Credentials":
        from lochan.access.keys import create_key

        return await create_key(opened.access, user, id=id, secret=secret, actor=opened.actor)

    made = change(work)
    record = {"user": made.user, "access_key_id": made.access_key_id, "secret_access_key": made.secret_access_key}
    show_record(record, form)
    if form != "json":
        click.echo("keep the secret: it is not shown again", err=True)


def _given(text: str | None, what: str) -> str:
    """Empty is a variable in a script that was not set, and not a wish to have one drawn."""
    if text == "":
        raise Invalid(f"the {what} that was given is empty", hint="leave it out to have it drawn")
    return text or ""
