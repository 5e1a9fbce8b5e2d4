"""`lochan auth users`: users."""

from typing import Any

import click

from lochan.cli.auth.records import OpenedAccess, change, look, user_record, words
from lochan.cli.lazy_group import LazyGroup
from lochan.cli.options.request_key import request_key
from lochan.cli.output.records import format_option, printable, show_record, show_records
from lochan.cli.prompt import confirm


@click.group("users", cls=LazyGroup)
def group() -> None:
    """Create, list, show and delete users."""


@group.command("create")
@click.argument("name")
@request_key
@format_option
def create_command(name: str, form: str) -> None:
    """Create the user NAME. Nothing is allowed to it until a policy is attached.

    \b
    Example:
      lochan auth users create ada
    """

    async def work(opened: OpenedAccess) -> dict[str, Any]:
        from lochan.access.users import create_user

        user = await create_user(opened.access, name, actor=opened.actor)
        return user_record(opened.access.folded(), user)

    record = change(work)
    if form == "json":
        show_record(record, form)
    else:
        click.echo(f"created user {printable(name)}")


@group.command("list")
@format_option
def list_command(form: str) -> None:
    """List the users of the lake, by name.

    \b
    Example:
      lochan auth users list
    """
    records = look(lambda access: [user_record(access, user) for user in access.users()])
    if form != "json":
        records = [words(each, "policies") | {"keys": len(each["keys"])} for each in records]
    show_records(records, form, columns=("name", "policies", "keys", "created", "created_by"))


@group.command("show")
@click.argument("name", metavar="USER")
@format_option
def show_command(name: str, form: str) -> None:
    """Show the user USER: its policies, and the ids of its keys.

    \b
    Example:
      lochan auth users show ada
    """
    record = look(lambda access: user_record(access, access.user(name)))
    show_record(record if form == "json" else words(record, "policies", "keys"), form)


@group.command("delete")
@click.argument("name", metavar="USER")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@request_key
@format_option
def delete_command(name: str, yes: bool, form: str) -> None:
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
