"""`lochan tag`: names for commits that do not move."""

from typing import Any

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.open_ref import OpenRef, work_on
from lochan.cli.options.request_key import request_key
from lochan.cli.output.commits import SHORT, title
from lochan.cli.output.records import format_option, instant, printable, show_record, show_records
from lochan.cli.uri import named_uri, repository_uri


@click.group("tag", cls=LazyGroup)
def group() -> None:
    """Create, list and delete tags."""


@group.command("create")
@click.argument("tag", metavar="REPO@NAME")
@click.option("--from", "source", metavar="REF", help="What it names; the head of the default branch unless told.")
@request_key
@format_option
def create_command(tag: str, source: str | None, form: str) -> None:
    """Give a commit a name.

    \b
    Example:
      lochan tag create demo@v1 --from main
    """
    uri = named_uri(tag)

    async def work(opened: OpenRef) -> str:
        from lochan.versioning.branching import create_tag

        default = opened.repository.repository.default_branch
        return await create_tag(opened.repository, uri.ref, source or default, actor=opened.actor)

    commit = work_on(uri, work)
    if form == "json":
        show_record({"name": uri.ref, "commit": commit}, form)
    else:
        click.echo(f"created tag {printable(uri.ref)} at {commit[:SHORT]}")


@group.command("list")
@click.argument("repository", metavar="REPO")
@format_option
def list_command(repository: str, form: str) -> None:
    """List the tags of REPO, by name.

    \b
    Example:
      lochan tag list demo
    """

    async def work(opened: OpenRef) -> list[dict[str, Any]]:
        refs, _ = await opened.repository.refs()
        found = [(name, id, refs.commit(id)) for name, id in refs.tags()]
        return [
            {"name": name, "commit": id, "date": instant(commit.date), "message": commit.message}
            for name, id, commit in found
        ]

    records = work_on(repository_uri(repository), work)
    if form != "json":
        records = [{**each, "commit": each["commit"][:SHORT], "message": title(each["message"])} for each in records]
    show_records(records, form, columns=("name", "commit", "date", "message"))


@group.command("delete")
@click.argument("tag", metavar="REPO@NAME")
@request_key
@format_option
def delete_command(tag: str, form: str) -> None:
    """Delete a tag.

    \b
    Example:
      lochan tag delete demo@v1
    """
    uri = named_uri(tag)

    async def work(opened: OpenRef) -> None:
        from lochan.versioning.branching import delete_tag

        await delete_tag(opened.repository, uri.ref, actor=opened.actor)

    work_on(uri, work)
    if form == "json":
        show_record({"deleted": uri.ref}, form)
    else:
        click.echo(f"deleted tag {printable(uri.ref)}")
