"""`lochan auth`: who may do what."""

import click

from lochan.cli.lazy_group import LazyGroup

VERBS = {
    "actions": "lochan.cli.auth.policies:actions_command",
    "attach": "lochan.cli.auth.policies:attach_command",
    "can": "lochan.cli.auth.policies:can_command",
    "groups": "lochan.cli.auth.groups:group",
    "detach": "lochan.cli.auth.policies:detach_command",
    "keys": "lochan.cli.auth.keys:keys",
    "policies": "lochan.cli.auth.policies:group",
    "tokens": "lochan.cli.auth.keys:tokens",
    "users": "lochan.cli.auth.users:users",
}


@click.group("auth", cls=LazyGroup, verbs=VERBS)
def group() -> None:
    """Users, groups, access keys, tokens and policies: who may do what through the server."""
