"""`lochan fs cp` and `mv`: objects under other paths."""

from typing import Any

import click

from lochan.cli.output.objects import object_record
from lochan.cli.output.progress import count_progress, progress
from lochan.cli.output.records import printable, show_record, size
from lochan.cli.target import Target, Uri, folder, last_name, object_uri, prefix_uri, work_on, writable, writable_at
from lochan.cli.verb import verb
from lochan.errors import Invalid


@verb("cp", "lochan fs cp -r demo@v1/data/ demo@main/data/", changes=True)
@click.argument("source", metavar="REPO[@REF]/PATH")
@click.argument("target", metavar="REPO[@BRANCH]/PATH")
@click.option("-r", "--recursive", is_flag=True, help="Take all objects of the folder PATH to the target folder.")
@click.option(
    "--metadata", multiple=True, metavar="KEY=VALUE", help="Metadata instead of the source's; may be repeated."
)
@click.option("--content-type", metavar="TYPE", help="The content type, such as text/csv. Default: the source's.")
def cp_command(
    source: str, target: str, recursive: bool, metadata: tuple[str, ...], content_type: str | None, form: str
) -> None:
    """Copy an object, or with -r a folder, from any ref to a branch. A target that ends with a slash is a folder.

    Within a repository no bytes are copied, and a folder appears in one step. To another repository the bytes are
    copied. Copying an object onto itself changes its metadata or content type.
    """
    from lochan.cli.options import notes

    pairs = notes(metadata)
    if recursive:
        if pairs or content_type:
            raise click.UsageError("--metadata and --content-type are for one object, not for a folder.")
        one, other = folder_uris(source, target)
    else:
        one, other = object_uri(source), target_uri(source, target)

    async def work(target: Target) -> dict[str, Any]:
        into = writable_at(target.lake, other)
        within = one.repository == other.repository
        if recursive:
            shown = count_progress("looking for the bytes", "files", visible=form != "json")
            with shown if within else progress("copying", None, visible=form != "json") as advance:
                return (await into.copy_folder(target.ref, one.path, other.path, progress=advance)).as_json()
        total = None if within else (await target.ref.stat(one.path)).size
        about = content_type, pairs or None
        with progress("copying", total, visible=form != "json" and not within) as advance:
            made = await into.copy(
                target.ref, one.path, other.path, content_type=about[0], metadata=about[1], progress=advance
            )
        return object_record(made)

    show_done("copied", one, other, work_on(one, work), recursive, form)


def target_uri(source: str, target: str) -> Uri:
    """Returns the target of an object, which keeps its name unless the target gives another. Raises Invalid."""
    one, other = object_uri(source), writable(prefix_uri(target))
    if not other.path or other.path.endswith("/"):
        other = other._replace(path=other.path + last_name(one.path))
    return other


def folder_uris(source: str, target: str) -> tuple[Uri, Uri]:
    """Returns two folders; without a path, a folder is everything."""
    one, other = prefix_uri(source), writable(prefix_uri(target))
    return one._replace(path=folder(one.path)), other._replace(path=folder(other.path))


def same_repository(one: Uri, other: Uri) -> None:
    if one.repository != other.repository:
        raise Invalid(f"{one} and {other} are in different repositories", hint="copy it, then remove the source")


def show_done(verb: str, one: Uri, other: Uri, record: dict[str, Any], recursive: bool, form: str) -> None:
    if form == "json":
        show_record(record, form)
        return
    how_many = f": {record['objects']} objects ({size(record['bytes'])})" if recursive else ""
    click.echo(f"{verb} {printable(str(one))} to {printable(str(other))}{how_many}")


@verb("mv", "lochan fs mv demo@main/a.csv demo@main/data/a.csv", changes=True)
@click.argument("source", metavar="REPO[@BRANCH]/PATH")
@click.argument("target", metavar="REPO[@BRANCH]/PATH")
@click.option("-r", "--recursive", is_flag=True, help="Take all objects of the folder PATH to the target folder.")
def mv_command(source: str, target: str, recursive: bool, form: str) -> None:
    """Move an object, or with -r a folder, on one branch, in one step.

    A target that ends with a slash is a folder.
    """
    one, other = folder_uris(source, target) if recursive else (object_uri(source), target_uri(source, target))
    writable(one)
    same_repository(one, other)

    async def work(target: Target) -> dict[str, Any]:
        default = (await target.repository.show()).default_branch
        if (one.ref or default) != (other.ref or default):
            raise Invalid(f"{one} and {other} are on different branches", hint="copy it, then remove the source")
        if recursive:
            return (await target.writable.move_folder(one.path, other.path)).as_json()
        return object_record(await target.writable.move(one.path, other.path))

    show_done("moved", one, other, work_on(one, work), recursive, form)
