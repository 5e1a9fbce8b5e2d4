"""`lochan branch list`: every branch of a repository."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.commit_record import SHORT, title
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, instant, show_records
from lochan.cli.uri import repository_uri

if TYPE_CHECKING:
    from lochan.formats.commit import Commit
    from lochan.versioning.state.branch import BranchState


@click.command("list")
@click.argument("repository", metavar="REPO")
@format_option
def command(repository: str, form: str) -> None:
    """List the branches of REPO, by name.

    \b
    Example:
      lochan branch list demo
    """
    show_branches(repository, form)


def show_branches(repository: str, form: str) -> None:
    async def work(opened: Opened) -> list[dict[str, Any]]:
        refs, _ = await opened.repository.refs()
        return [_record(each, refs.commit(each.head), each.name == opened.ref) for each in refs.branches()]

    records = work_on(repository_uri(repository), work)
    if form != "json":
        records = [{**each, "head": each["head"][:SHORT], "message": title(each["message"])} for each in records]
    show_records(records, form, columns=("name", "head", "default", "staged", "date", "message"))


def _record(branch: "BranchState", head: "Commit", default: bool) -> dict[str, Any]:
    return {
        "name": branch.name,
        "head": branch.head,
        "default": default,
        "staged": not branch.layers.empty,
        "date": instant(head.date),
        "message": head.message,
    }
