"""`lochan bisect`: the verbs that find the commit which broke something."""

import click

from lochan.cli.lazy import LazyGroup

VERBS = {
    "bad": "lochan.cli.bisect_bad",
    "good": "lochan.cli.bisect_good",
    "reset": "lochan.cli.bisect_reset",
    "run": "lochan.cli.bisect_run",
    "skip": "lochan.cli.bisect_skip",
    "start": "lochan.cli.bisect_start",
}


@click.group("bisect", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """Find the commit that broke something, by testing as few as can be."""
