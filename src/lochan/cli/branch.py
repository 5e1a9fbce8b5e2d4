"""`lochan branch`: the verbs for branches."""

import click

from lochan.cli.lazy import LazyGroup

VERBS = {
    "create": "lochan.cli.branch_create",
    "delete": "lochan.cli.branch_delete",
    "list": "lochan.cli.branch_list",
    "protect": "lochan.cli.branch_protect",
    "protection": "lochan.cli.branch_protection",
    "rename": "lochan.cli.branch_rename",
    "restore": "lochan.cli.branch_restore",
    "unprotect": "lochan.cli.branch_unprotect",
}


@click.group("branch", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """Create, list, rename, delete, restore and protect branches."""
