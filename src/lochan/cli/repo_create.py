"""`lochan repo create`: a new repository."""

from typing import TYPE_CHECKING

import click

from lochan.cli.notes import notes
from lochan.cli.repo_record import repository_record
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record

if TYPE_CHECKING:
    from lochan.versioning.repositories import Repository


@click.command("create")
@click.argument("name")
@click.option("--kind", type=click.Choice(["files", "pool"]), default="files", show_default=True, help="What it holds.")
@click.option("--default-branch", default="main", show_default=True, metavar="BRANCH", help="Its first branch.")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="A note kept with it; may be repeated.")
@request_key
@format_option
def command(name: str, kind: str, default_branch: str, metadata: tuple[str, ...], form: str) -> None:
    """Create the repository NAME.

    \b
    Example:
      lochan repo create demo
    """
    from lochan.cli.session import actor, configuration, open_lake, run

    config = configuration()
    said = notes(metadata)

    async def work() -> "Repository":
        async with open_lake(config) as lake:
            return await lake.create_repository(
                name, kind=kind, default_branch=default_branch, metadata=said, actor=actor(config)
            )

    repository = run(config, work())
    if form == "json":
        show_record(repository_record(repository), form)
    else:
        click.echo(f"created repository {printable(repository.name)}")
