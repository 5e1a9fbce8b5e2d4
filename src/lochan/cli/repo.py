"""`lochan repo`: the verbs for repositories."""

import click

from lochan.cli.lazy import LazyGroup

VERBS = {
    "create": "lochan.cli.repo_create",
    "delete": "lochan.cli.repo_delete",
    "list": "lochan.cli.repo_list",
    "read-only": "lochan.cli.repo_read_only",
    "show": "lochan.cli.repo_show",
}


@click.group("repo", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """Create, list, show, protect and delete repositories."""
