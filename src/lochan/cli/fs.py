"""`lochan fs`: the verbs for objects."""

import click

from lochan.cli.lazy import LazyGroup

VERBS = {
    "address": "lochan.cli.fs_address",
    "cat": "lochan.cli.fs_cat",
    "cp": "lochan.cli.fs_cp",
    "download": "lochan.cli.fs_download",
    "link": "lochan.cli.fs_link",
    "ls": "lochan.cli.fs_ls",
    "mv": "lochan.cli.fs_mv",
    "rm": "lochan.cli.fs_rm",
    "stat": "lochan.cli.fs_stat",
    "upload": "lochan.cli.fs_upload",
}


@click.group("fs", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """List, read, upload, download, copy, move, link and remove objects."""
