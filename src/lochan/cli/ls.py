"""`lochan ls`: the repositories of the lake."""

import click

from lochan.cli.repo_list import show_repositories
from lochan.cli.shown import format_option


@click.command("ls")
@format_option
def command(form: str) -> None:
    """List the repositories of the lake."""
    show_repositories(form)
