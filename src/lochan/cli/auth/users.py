"""`lochan auth users`: users."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.options import confirm, yes_option
from lochan.cli.output.records import all_records, printable, show_answer, show_record, show_records
from lochan.cli.session import on_lake

if TYPE_CHECKING:
    from lochan.api.lake import Lake


@click.group("users", cls=LazyGroup)
def users() -> None:
    """Create, list, show, disable and delete users."""


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
        records = [_row(each) for each in records]
    more = tuple(each for each in ("groups", "disabled") if form != "json" and any(row[each] for row in records))
    show_records(records, form, columns=("name", "policies", *more, "keys", "created", "created_by"))


def _row(user: dict[str, Any]) -> dict[str, Any]:
    texts = {name: " ".join(user[name]) for name in ("policies", "groups")}
    return {**user, **texts, "keys": len(user["keys"])}


@users.verb("show", "lochan auth users show ada")
@click.argument("name", metavar="USER")
def show_command(name: str, form: str) -> None:
    """Show the user USER: its policies, and the ids of its keys."""
    record = on_lake(lambda lake: lake.access.user(name), reads=True).as_json()
    if form != "json":
        record = {**record, **{field: " ".join(record[field]) for field in ("policies", "keys", "groups")}}
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


@users.verb("disable", "lochan auth users disable ada", changes=True)
@click.argument("name", metavar="USER")
def disable_command(name: str, form: str) -> None:
    """Disable the user USER. When the command ends, no server accepts its keys and tokens until it is enabled."""
    record = on_lake(lambda lake: lake.access.set_disabled(name)).as_json()
    show_answer(record, form, f"disabled user {printable(name)}")


@users.verb("enable", "lochan auth users enable ada", changes=True)
@click.argument("name", metavar="USER")
def enable_command(name: str, form: str) -> None:
    """Enable the user USER again, with the keys, groups and policies that it had."""
    record = on_lake(lambda lake: lake.access.set_disabled(name, False)).as_json()
    show_answer(record, form, f"enabled user {printable(name)}")
