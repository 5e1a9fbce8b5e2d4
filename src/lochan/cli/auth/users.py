"""`lochan auth users`: users. `lochan auth keys`: their access keys, whose secrets are shown once."""

import sys
from typing import TYPE_CHECKING

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.options import confirm, yes_option
from lochan.cli.output.records import all_records, printable, show_answer, show_record, show_records
from lochan.cli.session import on_lake
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.api.lake import Lake


@click.group("users", cls=LazyGroup)
def users() -> None:
    """Create, list, show and delete users."""


@users.verb("create", "lochan auth users create ada", changes=True)
@click.argument("name")
def create_command(name: str, form: str) -> None:
    """Create the user NAME. It may do nothing until a policy is attached."""
    record = on_lake(lambda lake: lake.access.create_user(name)).as_json()
    show_answer(record, form, f"created user {printable(name)}")


@users.verb("list", "lochan auth users list")
def list_command(form: str) -> None:
    """List the users of the lake, by name."""
    records = on_lake(lambda lake: all_records(lake.access.users()), reads=True)
    if form != "json":
        records = [{**each, "policies": " ".join(each["policies"]), "keys": len(each["keys"])} for each in records]
    show_records(records, form, columns=("name", "policies", "keys", "created", "created_by"))


@users.verb("show", "lochan auth users show ada")
@click.argument("name", metavar="USER")
def show_command(name: str, form: str) -> None:
    """Show the user USER: its policies, and the ids of its keys."""
    record = on_lake(lambda lake: lake.access.user(name), reads=True).as_json()
    if form != "json":
        record = {**record, **{field: " ".join(record[field]) for field in ("policies", "keys")}}
    show_record(record, form)


@users.verb("delete", "lochan auth users delete ada", changes=True)
@click.argument("name", metavar="USER")
@yes_option
def delete_command(name: str, yes: bool, form: str) -> None:
    """Delete the user USER and revoke its keys. When the command ends, no server accepts them any more.

    On a terminal it asks first; a script must give --yes.
    """

    async def count_keys(lake: "Lake") -> int:
        return len((await lake.access.user(name)).keys)

    if not yes:
        keys = on_lake(count_keys, reads=True)
        confirm(f"Delete user {name} with {keys} access keys?", f"user {name} was not deleted")
    on_lake(lambda lake: lake.access.delete_user(name))
    show_answer({"name": name}, form, f"deleted user {printable(name)}")


@click.group("keys", cls=LazyGroup)
def keys() -> None:
    """Create, list and revoke access keys. To rotate one: create the new one, then revoke the old one."""


@keys.verb("create", "lochan auth keys create ada", changes=True)
@click.argument("user")
@click.option("--access-key-id", "id", metavar="ID", help="The key's id. Default: a new one.")
@click.option(
    "--secret-access-key",
    "secret",
    metavar="SECRET",
    help="The secret; - reads it from standard input, out of sight of process lists. Default: a new one.",
)
def create_key_command(user: str, id: str | None, secret: str | None, form: str) -> None:
    """Create an access key for USER. The secret is shown now, and never again."""
    id = _given(id, "id")
    secret = _given(sys.stdin.readline().rstrip("\r\n") if secret == "-" else secret, "secret")

    show_record(on_lake(lambda lake: lake.access.create_key(user, id=id, secret=secret)).as_json(), form)
    if form != "json":
        click.echo("keep the secret: it is not shown again", err=True)


def _given(text: str | None, what: str) -> str:
    """Refuses an empty text: it is an unset variable of a script, and does not ask for a new one."""
    if text == "":
        raise Invalid(f"the {what} that was given is empty", hint="leave it out to get a new one")
    return text or ""


@keys.verb("list", "lochan auth keys list ada")
@click.argument("user")
def list_keys_command(user: str, form: str) -> None:
    """List the access keys of USER: the oldest first, without their secrets."""
    show_records(
        on_lake(lambda lake: all_records(lake.access.keys(user)), reads=True),
        form,
        columns=("access_key_id", "created", "created_by"),
    )


@keys.verb("revoke", "lochan auth keys revoke LKIAAAAAAAAAAAAAAAAA", changes=True)
@click.argument("id", metavar="KEY-ID")
@yes_option
def revoke_command(id: str, yes: bool, form: str) -> None:
    """Revoke the access key KEY-ID. When the command ends, no server accepts it any more.

    On a terminal it asks first; a script must give --yes.
    """

    async def find_user(lake: "Lake") -> str:
        return (await lake.access.key(id)).user

    if not yes:
        confirm(f"Revoke access key {id} of {on_lake(find_user, reads=True)}?", f"{id} was not revoked")
    on_lake(lambda lake: lake.access.revoke_key(id))
    show_answer({"access_key_id": id}, form, f"revoked access key {printable(id)}")
