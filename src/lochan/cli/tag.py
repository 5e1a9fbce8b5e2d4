"""`lochan tag`: names for commits that do not move."""

from typing import Any

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.options.request_key import request_key
from lochan.cli.output.commits import SHORT, title
from lochan.cli.output.records import format_option, printable, show_record, show_records
from lochan.cli.target import Target, work_on
from lochan.cli.uri import named_uri, repository_uri


@click.group("tag", cls=LazyGroup)
def group() -> None:
    """Create, list and delete tags."""


@group.command("create")
@click.argument("tag", metavar="REPO@NAME")
@click.option(
    "--from", "source", metavar="REF", help="The commit that it names. Default: the head of the default branch."
)
@request_key
@format_option
def create_command(tag: str, source: str | None, form: str) -> None:
    """Give a commit a name.

    \b
    Example:
      lochan tag create demo@v1 --from main
    """
    uri = named_uri(tag)

    async def work(target: Target) -> str:
        return (await target.repository.create_tag(uri.ref, source or "")).made_at

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

    async def work(target: Target) -> list[dict[str, Any]]:
        return [each.as_json() async for each in target.repository.tags()]

    records = work_on(repository_uri(repository), work, reads=True)
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

    async def work(target: Target) -> None:
        await target.repository.delete_tag(uri.ref)

    work_on(uri, work)
    if form == "json":
        show_record({"deleted": uri.ref}, form)
    else:
        click.echo(f"deleted tag {printable(uri.ref)}")
