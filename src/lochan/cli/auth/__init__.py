"""`lochan auth`: users, groups, keys and policies."""

import click

from lochan.cli.lazy_group import LazyGroup

VERBS = {
    "actions": "lochan.cli.auth.policies:actions_command",
    "attach": "lochan.cli.auth.policies:attach_command",
    "can": "lochan.cli.auth.policies:can_command",
    "groups": "lochan.cli.auth.groups:group",
    "detach": "lochan.cli.auth.policies:detach_command",
    "identities": "lochan.cli.auth.sign_ins:identities",
    "keys": "lochan.cli.auth.keys:keys",
    "policies": "lochan.cli.auth.policies:group",
    "sessions": "lochan.cli.auth.sign_ins:sessions",
    "tokens": "lochan.cli.auth.keys:tokens",
    "users": "lochan.cli.auth.users:users",
}


@click.group("auth", cls=LazyGroup, verbs=VERBS)
def group() -> None:
    """Users, groups, access keys, sessions and policies: who may do what through the server."""
