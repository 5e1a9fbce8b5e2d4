"""`lochan fs cp`: an object once more, without moving a byte."""

from typing import Any

import click

from lochan.cli.listed import last_name
from lochan.cli.object_record import object_record
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import Uri, object_uri, on_branch, prefix_uri
from lochan.errors import Invalid


@click.command("cp")
@click.argument("source", metavar="REPO[@REF]/PATH")
@click.argument("target", metavar="REPO[@BRANCH]/PATH")
@format_option
def command(source: str, target: str, form: str) -> None:
    """Copy an object within a repository, from any ref to a branch. A target that ends with a slash is a folder."""
    one, other = object_uri(source), target_uri(source, target)

    async def work(opened: Opened) -> dict[str, Any]:
        from lochan.versioning.objects import copy

        branch = opened.ref_of(other)
        entry = await copy(opened.repository, opened.ref, one.path, branch, other.path, actor=opened.actor)
        return object_record(entry)

    record = work_on(one, work)
    if form == "json":
        show_record(record, form)
    else:
        click.echo(f"copied {printable(str(one))} to {printable(str(other))}")


def target_uri(source: str, target: str) -> Uri:
    """Where an object goes that keeps its name unless the target says another. Raises Invalid."""
    one, other = object_uri(source), on_branch(prefix_uri(target))
    if one.repository != other.repository:
        raise Invalid(
            f"{one} and {other} are in different repositories", hint="download the one, and upload it to the other"
        )
    if not other.path or other.path.endswith("/"):
        other = other._replace(path=other.path + last_name(one.path))
    return other
