"""`lochan status`: what is staged on a branch."""

from typing import Any

import click

from lochan.cli.commit_record import SHORT
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import echo_table, format_option, printable, show_record, size_cell
from lochan.cli.uri import branch_uri


@click.command("status")
@click.argument("branch", metavar="REPO[@BRANCH]")
@format_option
def command(branch: str, form: str) -> None:
    """Show the head of a branch, and what a commit would change now."""

    async def work(opened: Opened) -> dict[str, Any]:
        from lochan.versioning.differing import staged

        refs, _ = await opened.repository.refs()
        head = refs.branch(opened.ref).head
        found = await staged(opened.repository, opened.ref)
        return {"branch": opened.ref, "head": head, "staged": [each._asdict() for each in found]}

    record = work_on(branch_uri(branch), work)
    if form == "json":
        show_record(record, form)
    else:
        _print(record)


def _print(record: dict[str, Any]) -> None:
    staged = record["staged"]
    click.echo(f"branch {printable(record['branch'])} at {record['head'][:SHORT]}")
    if not staged:
        click.echo("nothing is staged")
        return
    rows = [
        (each["kind"], "" if each["kind"] == "removed" else size_cell(each["size"]), printable(each["path"]))
        for each in staged
    ]
    echo_table(["STAGED", "SIZE", "PATH"], rows)
