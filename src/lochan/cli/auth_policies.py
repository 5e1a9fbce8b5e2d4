"""`lochan auth policies`: the verbs for policies."""

import click

from lochan.cli.lazy import LazyGroup

VERBS = {
    "delete": "lochan.cli.auth_policy_delete",
    "list": "lochan.cli.auth_policy_list",
    "put": "lochan.cli.auth_policy_put",
    "show": "lochan.cli.auth_policy_show",
}


@click.group("policies", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """List, show, put and delete policies."""
