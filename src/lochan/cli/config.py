"""`lochan config`: the verbs for the configuration."""

import click

from lochan.cli.lazy import LazyGroup

VERBS = {"show": "lochan.cli.config_show"}


@click.group("config", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """Look at the configuration."""
