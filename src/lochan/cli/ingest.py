"""`lochan ingest`: the verbs for what is written by others outside, and followed by a branch."""

import click

from lochan.cli.lazy import LazyGroup

VERBS = {
    "commit": "lochan.cli.ingest_commit",
    "diff": "lochan.cli.ingest_diff",
    "stream": "lochan.cli.ingest_stream",
}


@click.group("ingest", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """Follow what others write: a bucket's prefix or a folder, file by file; or rows, into a pool."""
