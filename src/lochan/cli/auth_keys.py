"""`lochan auth keys`: the verbs for access keys."""

import click

from lochan.cli.lazy import LazyGroup

VERBS = {
    "create": "lochan.cli.auth_key_create",
    "list": "lochan.cli.auth_key_list",
    "revoke": "lochan.cli.auth_key_revoke",
}


@click.group("keys", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """Create, list and revoke access keys. To rotate one: create the new one, then revoke the old one."""
