"""`lochan stash list`: what was put aside."""

from typing import Any

import click

from lochan.cli.commit_record import SHORT
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, instant, show_records
from lochan.cli.uri import branch_uri


@click.command("list")
@click.argument("branch", metavar="REPO[@BRANCH]")
@format_option
def command(branch: str, form: str) -> None:
    """List the stashes of a repository or a branch. The newest comes first.

    \b
    Example:
      lochan stash list demo
    """
    uri = branch_uri(branch)

    async def work(opened: Opened) -> list[dict[str, Any]]:
        from lochan.versioning.stash import stashed

        return [
            {
                "id": each.id,
                "branch": each.branch,
                "head": each.head,
                "changes": each.layers.count,
                "date": instant(each.time),
                "user": each.user,
                "message": each.message,
            }
            for each in await stashed(opened.repository, uri.ref)
        ]

    records = work_on(uri, work)
    if form != "json":
        records = [{**each, "head": each["head"][:SHORT]} for each in records]
    show_records(records, form, columns=("id", "branch", "head", "changes", "date", "user", "message"))
