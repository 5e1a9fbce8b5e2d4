"""`lochan merge-base`: where two histories parted."""

import click

from lochan.cli.commit_record import SHORT, commit_record, title
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, printable, show_records
from lochan.cli.uri import ref_uri
from lochan.errors import Invalid, NotFound


@click.command("merge-base")
@click.argument("left", metavar="REPO[@LEFT]")
@click.argument("right", metavar="REPO[@RIGHT]")
@click.option("--all", "every", is_flag=True, help="All of them, where the two have merged each other.")
@format_option
def command(left: str, right: str, every: bool, form: str) -> None:
    """Show the best common ancestor of two refs: what a merge of them compares both with.

    \b
    Example:
      lochan merge-base demo@main demo@dev
    """
    one, other = ref_uri(left), ref_uri(right)
    if one.repository != other.repository:
        raise Invalid(f"{one} and {other} are in different repositories", hint="compare refs of one repository")

    async def work(opened: Opened) -> None:
        from lochan.versioning.graph import merge_bases

        refs, _ = await opened.repository.refs()
        ids = [(await opened.repository.resolve(opened.ref_of(uri))).commit_id for uri in (one, other)]
        found = merge_bases(refs.commit, *ids)
        if not found:
            raise NotFound(f"{one} and {other} have no history in common")
        records = [commit_record(id, refs.commit(id)) for id in found[: None if every else 1]]
        if form != "json":
            records = [
                {**each, "id": each["id"][:SHORT], "message": printable(title(each["message"]))} for each in records
            ]
        show_records(records, form, columns=("id", "date", "author", "message"))

    work_on(one, work)
