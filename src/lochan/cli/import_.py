"""`lochan import`: files of a bucket or a folder become objects, without a copy, as one commit."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.commit_record import SHORT
from lochan.cli.listed import folder
from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record, size
from lochan.cli.uri import Uri, on_branch, prefix_uri
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.versioning.head_moves import CommitMessage
    from lochan.versioning.import_ import ImportPlan, ImportSource


@click.command("import")
@click.argument("source", metavar="URL")
@click.argument("target", metavar="REPO[@BRANCH][/PREFIX]")
@click.option(
    "--path", "paths", multiple=True, metavar="URL=PREFIX", help="One more source, and its prefix; may be repeated."
)
@click.option("-m", "--message", default="", help="What the commit is to say.")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="A note of the commit; may be repeated.")
@click.option("--dry-run", is_flag=True, help="Only say what would be imported.")
@request_key
@format_option
def command(
    source: str,
    target: str,
    paths: tuple[str, ...],
    message: str,
    metadata: tuple[str, ...],
    dry_run: bool,
    form: str,
) -> None:
    """Import files into a branch without copying them: all under a URL (s3://, gs://, az://, file://, or a local
    folder), as one commit.

    No byte is moved: the files must stay where they are. Objects at the same paths are replaced, others stay. Where
    such a path has uncommitted changes, it is listed, nothing is imported, and the exit code is 4.

    \b
    Example:
      lochan import s3://bucket/data/ demo@main/data/
    """
    from lochan.cli.notes import notes

    uri = on_branch(prefix_uri(target))
    said = notes(metadata)

    async def work(opened: Opened) -> dict[str, Any]:
        from lochan.cli.progress import counted
        from lochan.versioning.head_moves import CommitMessage
        from lochan.versioning.import_ import for_import

        opened.needs_files()
        with counted("listing", "files", wanted=form != "json") as seen:
            gathered = await for_import(opened.repository, list(_sources(source, uri, paths)), seen)
        return await brought_in(opened, gathered, CommitMessage(message, said), form, dry_run=dry_run)

    show_brought_in("import", work_on(uri, work), form)


async def brought_in(
    opened: Opened, gathered: "ImportPlan", said: "CommitMessage", form: str, *, dry_run: bool
) -> dict[str, Any]:
    from lochan.cli.in_the_way import in_the_way_shown
    from lochan.versioning.import_ import ImportCounts, bring_in, differences

    if dry_run:
        counts = ImportCounts()
        async for part in differences(opened.repository, opened.ref, gathered):
            counts = counts.plus(part)
        return {"commit": None, **counts._asdict()}
    with in_the_way_shown(form):
        landed = await bring_in(opened.repository, opened.ref, gathered, said, actor=opened.actor)
    return {"commit": landed.commit, **landed.counts._asdict()}


def show_brought_in(verb: str, record: dict[str, Any], form: str) -> None:
    if form == "json":
        show_record(record, form)
        return
    done = f"{verb}ed as {record['commit'][:SHORT]}" if record["commit"] else f"would {verb}"
    counts = ", ".join(f"{record[kind]} {kind}" for kind in ("added", "changed", "removed"))
    click.echo(f"{printable(done)}: {counts} ({size(record['bytes'])})")


def _sources(source: str, uri: Uri, paths: tuple[str, ...]) -> "Iterator[ImportSource]":
    from lochan.cli.places import place_url
    from lochan.versioning.import_ import ImportSource

    yield ImportSource(place_url(source), folder(uri.path))
    for text in paths:
        url, found, prefix = text.rpartition("=")
        if not found or not url:
            raise Invalid(f"--path {text!r}: a source is given as URL=PREFIX", hint="such as --path s3://b/logs=logs/")
        yield ImportSource(place_url(url), folder(prefix))
