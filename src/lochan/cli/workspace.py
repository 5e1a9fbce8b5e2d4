"""`lochan workspace`: the verbs for workspaces."""

import click

from lochan.cli.lazy import LazyGroup

VERBS = {
    "add": "lochan.cli.workspace_add",
    "commit": "lochan.cli.workspace_commit",
    "create": "lochan.cli.workspace_create",
    "diff": "lochan.cli.workspace_diff",
    "drop": "lochan.cli.workspace_drop",
    "list": "lochan.cli.workspace_list",
    "path": "lochan.cli.workspace_path",
    "revert": "lochan.cli.workspace_revert",
    "show": "lochan.cli.workspace_show",
}


@click.group("workspace", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """A place of one's own over a branch: written to as plain files, committed once, or dropped."""
