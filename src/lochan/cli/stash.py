"""`lochan stash`: the verbs for stashes."""

import click

from lochan.cli.lazy import LazyGroup

VERBS = {
    "drop": "lochan.cli.stash_drop",
    "list": "lochan.cli.stash_list",
    "pop": "lochan.cli.stash_pop",
    "push": "lochan.cli.stash_push",
}


@click.group("stash", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """Put aside what is staged on a branch, and take it up again."""
