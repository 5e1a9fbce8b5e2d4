"""`lochan tag`: names for commits that do not move."""

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.output.records import SHORT, all_records, printable, show_answer, show_records, title
from lochan.cli.target import named_uri, repository_uri, work_on


@click.group("tag", cls=LazyGroup)
def group() -> None:
    """Create, list and delete tags."""


@group.verb("create", "lochan tag create demo@v1 --from main", changes=True)
@click.argument("tag", metavar="REPO@NAME")
@click.option(
    "--from", "source", metavar="REF", help="The commit that it names. Default: the head of the default branch."
)
def create_command(tag: str, source: str | None, form: str) -> None:
    """Create a tag: a name for a commit that does not move."""
    uri = named_uri(tag)
    commit = work_on(uri, lambda target: target.repository.create_tag(uri.ref, source or "")).made_at
    show_answer({"name": uri.ref, "commit": commit}, form, f"created tag {printable(uri.ref)} at {commit[:SHORT]}")


@group.verb("list", "lochan tag list demo")
@click.argument("repository", metavar="REPO")
def list_command(repository: str, form: str) -> None:
    """List the tags of REPO, by name."""
    records = work_on(repository_uri(repository), lambda target: all_records(target.repository.tags()), reads=True)
    if form != "json":
        records = [{**each, "commit": each["commit"][:SHORT], "message": title(each["message"])} for each in records]
    show_records(records, form, columns=("name", "commit", "date", "message"))


@group.verb("delete", "lochan tag delete demo@v1", changes=True)
@click.argument("tag", metavar="REPO@NAME")
def delete_command(tag: str, form: str) -> None:
    """Delete a tag."""
    uri = named_uri(tag)
    work_on(uri, lambda target: target.repository.delete_tag(uri.ref))
    show_answer({"deleted": uri.ref}, form, f"deleted tag {printable(uri.ref)}")
