"""`lochan auth groups`: groups of users, who have the policies of the group."""

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.options import confirm, yes_option
from lochan.cli.output.records import all_records, printable, show_answer, show_record, show_records
from lochan.cli.session import on_lake

_LISTS = ("members", "policies")


@click.group("groups", cls=LazyGroup)
def group() -> None:
    """Create, list, show and delete groups, and say who is in them."""


@group.verb("create", "lochan auth groups create analysts", changes=True)
@click.argument("name")
def create_command(name: str, form: str) -> None:
    """Create the group NAME. `lochan auth attach group/NAME POLICY` gives it a policy."""
    record = on_lake(lambda lake: lake.access.create_group(name)).as_json()
    show_answer(record, form, f"created group {printable(name)}")


@group.verb("list", "lochan auth groups list")
def list_command(form: str) -> None:
    """List the groups of the lake, by name."""
    records = on_lake(lambda lake: all_records(lake.access.groups()), reads=True)
    if form != "json":
        records = [{**each, **{field: " ".join(each[field]) for field in _LISTS}} for each in records]
    show_records(records, form, columns=("name", "members", "policies", "created", "created_by"))


@group.verb("show", "lochan auth groups show analysts")
@click.argument("name", metavar="GROUP")
def show_command(name: str, form: str) -> None:
    """Show the group GROUP: its members and its policies."""
    record = on_lake(lambda lake: lake.access.group(name), reads=True).as_json()
    if form != "json":
        record = {**record, **{field: " ".join(record[field]) for field in _LISTS}}
    show_record(record, form)


@group.verb("add", "lochan auth groups add analysts ada", changes=True)
@click.argument("name", metavar="GROUP")
@click.argument("user")
def add_command(name: str, user: str, form: str) -> None:
    """Add USER to the group GROUP."""
    record = on_lake(lambda lake: lake.access.add_member(name, user)).as_json()
    show_answer(record, form, f"added {printable(user)} to group {printable(name)}")


@group.verb("remove", "lochan auth groups remove analysts ada", changes=True)
@click.argument("name", metavar="GROUP")
@click.argument("user")
def remove_command(name: str, user: str, form: str) -> None:
    """Remove USER from the group GROUP. When the command ends, no server applies its policies to USER any more."""
    record = on_lake(lambda lake: lake.access.remove_member(name, user)).as_json()
    show_answer(record, form, f"removed {printable(user)} from group {printable(name)}")


@group.verb("delete", "lochan auth groups delete analysts", changes=True)
@click.argument("name", metavar="GROUP")
@yes_option
def delete_command(name: str, yes: bool, form: str) -> None:
    """Delete the group GROUP. Its members stay, without its policies.

    On a terminal it asks first; a script must give --yes.
    """
    if not yes:
        confirm(f"Delete group {name}?", f"group {name} was not deleted")
    on_lake(lambda lake: lake.access.delete_group(name))
    show_answer({"name": name}, form, f"deleted group {printable(name)}")
