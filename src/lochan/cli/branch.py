"""`lochan branch`: the verbs for branches."""

import click

from lochan.cli.lazy import LazyGroup

VERBS = {
    "create": "lochan.cli.branch_create",
    "delete": "lochan.cli.branch_delete",
    "list": "lochan.cli.branch_list",
    "restore": "lochan.cli.branch_restore",
}


@click.group("branch", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """Create, list, delete and restore branches."""
