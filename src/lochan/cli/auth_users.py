"""`lochan auth users`: the verbs for users."""

import click

from lochan.cli.lazy import LazyGroup

VERBS = {
    "create": "lochan.cli.auth_user_create",
    "delete": "lochan.cli.auth_user_delete",
    "list": "lochan.cli.auth_user_list",
    "show": "lochan.cli.auth_user_show",
}


@click.group("users", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """Create, list, show and delete users."""
