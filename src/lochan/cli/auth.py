"""`lochan auth`: who may do what."""

import click

from lochan.cli.lazy import LazyGroup

VERBS = {
    "actions": "lochan.cli.auth_actions",
    "attach": "lochan.cli.auth_attach",
    "can": "lochan.cli.auth_can",
    "detach": "lochan.cli.auth_detach",
    "keys": "lochan.cli.auth_keys",
    "policies": "lochan.cli.auth_policies",
    "users": "lochan.cli.auth_users",
}


@click.group("auth", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """Users, access keys and policies: who may do what through the server."""
