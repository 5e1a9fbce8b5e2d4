"""`lochan ingest`: the verbs that bring data from outside to a branch and keep it up to date."""

import click

from lochan.cli.lazy_group import LazyGroup

VERBS = {
    "commit": "lochan.cli.ingest.files:commit_command",
    "diff": "lochan.cli.ingest.files:diff_command",
    "stream": "lochan.cli.ingest.stream:stream_command",
    "watch": "lochan.cli.ingest.watch:watch_command",
}


@click.group("ingest", cls=LazyGroup, verbs=VERBS)
def group() -> None:
    """Bring in what others write: the files of a bucket's prefix or a folder, or rows into a pool."""
