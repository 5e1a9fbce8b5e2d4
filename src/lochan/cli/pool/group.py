"""`lochan pool`: list pools, and bring back those that were dropped."""

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.output.records import all_records, show_records


@click.group("pool", cls=LazyGroup)
def group() -> None:
    """List pools, and restore those that were dropped."""


@group.verb("list", "lochan pool list", "lochan pool list --deleted")
@click.option("--deleted", is_flag=True, help="List those that were dropped, and how long each can be restored.")
def list_command(deleted: bool, form: str) -> None:
    """List the pools of the lake, by name; dropped ones, the last one first."""
    from lochan.cli.repo import show_deleted
    from lochan.cli.session import on_lake

    if deleted:
        show_deleted(form, "pool")
        return
    records = on_lake(lambda lake: all_records(lake.pools()), reads=True)
    show_records(records, form, columns=("name", "default_branch", "created", "created_by"))


@group.verb("restore", "lochan pool restore logs", "lochan pool restore logs --as logs-2", changes=True)
@click.argument("name", metavar="POOL")
@click.option("--as", "to", default="", metavar="NAME", help="Restore it under this name. Default: the one it had.")
def restore_command(name: str, to: str, form: str) -> None:
    """Bring back the pool POOL that was dropped last: rows, branches, tags and history.

    POOL may be the id of a dropped one, which `lochan pool list --deleted` shows.
    """
    from lochan.cli.repo import restore

    restore(name, to, form, "pool")
