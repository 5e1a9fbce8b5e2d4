"""`lochan fs`: the verbs for objects."""

import click

from lochan.cli.lazy_group import LazyGroup

VERBS = {
    "address": "lochan.cli.fs.link:address_command",
    "cat": "lochan.cli.fs.read:cat_command",
    "coalesce": "lochan.cli.storage:coalesce_command",
    "cp": "lochan.cli.fs.copy:cp_command",
    "download": "lochan.cli.fs.read:download_command",
    "link": "lochan.cli.fs.link:link_command",
    "ls": "lochan.cli.fs.read:ls_command",
    "mv": "lochan.cli.fs.copy:mv_command",
    "presign": "lochan.cli.fs.read:presign_command",
    "rm": "lochan.cli.fs.write:rm_command",
    "stat": "lochan.cli.fs.read:stat_command",
    "upload": "lochan.cli.fs.write:upload_command",
}


@click.group("fs", cls=LazyGroup, verbs=VERBS)
def group() -> None:
    """List, read, upload, download, copy, move, link and remove objects."""
