"""`lochan ls`: the repositories and pools of the lake, or the branches of one."""

import click

from lochan.cli.repo_list import show_repositories
from lochan.cli.shown import format_option


@click.command("ls")
@click.argument("name", metavar="[REPO]", required=False)
@format_option
def command(name: str | None, form: str) -> None:
    """List repositories and pools, or the branches of one.

    \b
    Example:
      lochan ls
    """
    if name is None:
        show_repositories(form)
    else:
        from lochan.cli.branch_list import show_branches

        show_branches(name, form)
