"""`lochan commit`: what is staged on a branch becomes history."""

from typing import Any

import click

from lochan.cli.commit_record import SHORT, commit_record, title
from lochan.cli.moments import microseconds
from lochan.cli.notes import notes
from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import branch_uri


@click.command("commit")
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.argument("paths", nargs=-1, metavar="[PATH-OR-GLOB]...")
@click.option("-m", "--message", required=True, help="What was done, and why.")
@click.option("--meta", "--metadata", "metadata", multiple=True, metavar="KEY=VALUE", help="A note; may be repeated.")
@click.option("--allow-empty", is_flag=True, help="Commit even if nothing changes.")
@click.option("--author", default="", metavar="NAME", help="Who did it, if not you.")
@click.option("--date", metavar="TIME", help="When it was done, in ISO 8601; now unless told.")
@request_key
@format_option
def command(
    branch: str,
    paths: tuple[str, ...],
    message: str,
    metadata: tuple[str, ...],
    allow_empty: bool,
    author: str,
    date: str | None,
    form: str,
) -> None:
    """Commit what is staged on a branch: all of it, or only what fits the paths and globs given.

    In a glob, * and ? stay within a folder and ** goes across. What does not fit stays staged.

    \b
    Example:
      lochan commit demo@main -m 'new prices'
    """
    uri = branch_uri(branch)
    said, moment = notes(metadata), microseconds("--date", date)

    async def work(opened: Opened) -> dict[str, Any]:
        from lochan.versioning.commit import CommitRequest, commit

        opened.needs_files()
        wish = CommitRequest(message, said, author, moment, allow_empty, paths)
        return commit_record(*await commit(opened.repository, opened.ref, wish, actor=opened.actor))

    made = work_on(uri, work)
    if form == "json":
        show_record(made, form)
    else:
        click.echo(f"committed {made['id'][:SHORT]}: {printable(title(message))}")
