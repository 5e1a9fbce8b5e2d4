"""`lochan ingest`: the verbs for a folder outside that is written by others, and followed by a branch."""

import click

from lochan.cli.lazy import LazyGroup

VERBS = {
    "commit": "lochan.cli.ingest_commit",
    "diff": "lochan.cli.ingest_diff",
}


@click.group("ingest", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """Follow a bucket's prefix or a folder that others write to: see what is new there, and commit it."""
