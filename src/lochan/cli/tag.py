"""`lochan tag`: the verbs for tags."""

import click

from lochan.cli.lazy import LazyGroup

VERBS = {
    "create": "lochan.cli.tag_create",
    "delete": "lochan.cli.tag_delete",
    "list": "lochan.cli.tag_list",
}


@click.group("tag", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """Create, list and delete tags."""
