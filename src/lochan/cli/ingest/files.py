"""`lochan import`, `ingest commit` and `ingest diff`: files of a bucket or a folder become objects, without a copy."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.fs.listing import folder
from lochan.cli.open_ref import OpenRef, work_on
from lochan.cli.options.request_key import request_key
from lochan.cli.output.commits import SHORT
from lochan.cli.output.records import format_option, printable, show_record, size, size_cell
from lochan.cli.uri import Uri, on_branch, prefix_uri
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.cli.open_ref import OpenRef
    from lochan.versioning.gathering import Source
    from lochan.versioning.importing import Gathered
    from lochan.versioning.moving import Said


_PLACES = (
    click.option("--from-path", "source", required=True, metavar="URL", help="The folder or prefix outside the lake."),
    click.option("--to-path", "target", required=True, metavar="REPO[@BRANCH][/PREFIX]", help="What it is to become."),
    click.option("--keep-removed", is_flag=True, help="Leave alone what is not at the source any more."),
)


def places(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The options that both verbs have."""
    for option in reversed(_PLACES):
        verb = option(verb)
    return verb


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
def import_command(
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
    from lochan.cli.options.values import notes

    uri = on_branch(prefix_uri(target))
    said = notes(metadata)

    async def work(opened: OpenRef) -> dict[str, Any]:
        from lochan.cli.output.progress import counted
        from lochan.versioning.importing import for_import
        from lochan.versioning.moving import Said

        opened.needs_files()
        with counted("listing", "files", wanted=form != "json") as seen:
            gathered = await for_import(opened.repository, list(_import_sources(source, uri, paths)), seen)
        return await brought_in(opened, gathered, Said(message, said), form, dry_run=dry_run)

    show_brought_in("import", work_on(uri, work), form)


async def brought_in(
    opened: OpenRef, gathered: "Gathered", said: "Said", form: str, *, dry_run: bool
) -> dict[str, Any]:
    from lochan.cli.output.conflicts import listing_paths_in_the_way
    from lochan.versioning.importing import Counts, bring_in, differences

    if dry_run:
        counts = Counts()
        async for part in differences(opened.repository, opened.ref, gathered):
            counts = counts.plus(part)
        return {"commit": None, **counts._asdict()}
    with listing_paths_in_the_way(form):
        landed = await bring_in(opened.repository, opened.ref, gathered, said, actor=opened.actor)
    return {"commit": landed.commit, **landed.counts._asdict()}


def show_brought_in(verb: str, record: dict[str, Any], form: str) -> None:
    if form == "json":
        show_record(record, form)
        return
    done = f"{verb}ed as {record['commit'][:SHORT]}" if record["commit"] else f"would {verb}"
    counts = ", ".join(f"{record[kind]} {kind}" for kind in ("added", "changed", "removed"))
    click.echo(f"{printable(done)}: {counts} ({size(record['bytes'])})")


def _import_sources(source: str, uri: Uri, paths: tuple[str, ...]) -> "Iterator[Source]":
    from lochan.cli.options.values import place_url
    from lochan.versioning.gathering import Source

    yield Source(place_url(source), folder(uri.path))
    for text in paths:
        url, found, prefix = text.rpartition("=")
        if not found or not url:
            raise Invalid(f"--path {text!r}: a source is given as URL=PREFIX", hint="such as --path s3://b/logs=logs/")
        yield Source(place_url(url), folder(prefix))


@click.command("commit")
@places
@click.option("-m", "--message", default="", help="What the commit is to say.")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="A note of the commit; may be repeated.")
@request_key
@format_option
def commit_command(
    source: str, target: str, keep_removed: bool, message: str, metadata: tuple[str, ...], form: str
) -> None:
    """Make a prefix of a branch the same as the source. All changes are one commit.

    Files that were added there, changed (by size and ETag) or removed are added, changed and removed here; nothing is
    copied. Where nothing would change, the exit code is 6.

    \b
    Example:
      lochan ingest commit --from-path s3://bucket/data/ --to-path demo@main/data/ -m daily
    """
    from lochan.cli.options.values import notes

    uri, said = ingest_uri(target), notes(metadata)

    async def work(opened: OpenRef) -> dict[str, Any]:
        from lochan.versioning.moving import Said

        opened.needs_files()
        found = await gathered(opened, source, uri, keep_removed=keep_removed, bar=form != "json")
        return await brought_in(opened, found, Said(message, said), form, dry_run=False)

    show_brought_in("ingest", work_on(uri, work), form)


@click.command("diff")
@places
@format_option
def diff_command(source: str, target: str, keep_removed: bool, form: str) -> None:
    """Show what `ingest commit` would add, change and remove now.

    \b
    Example:
      lochan ingest diff --from-path s3://bucket/data/ --to-path demo@main/data/
    """
    uri = ingest_uri(target)

    async def work(opened: OpenRef) -> None:
        from lochan.cli.output.record_stream import show_stream

        found = await gathered(opened, source, uri, keep_removed=keep_removed, bar=form != "json")
        cells = {"before": size_cell, "after": size_cell}
        await show_stream(_records(opened, found), form, columns=("kind", "before", "after", "path"), cells=cells)

    work_on(uri, work)


async def _records(opened: OpenRef, found: "Gathered") -> AsyncIterator[dict[str, Any]]:
    from lochan.tree.diff import REMOVED
    from lochan.versioning.importing import differences

    async for part in differences(opened.repository, opened.ref, found):
        columns = (part.changes["path"], part.kinds, part.before, part.changes["size"])
        for path, kind, before, after in zip(*(column.to_pylist() for column in columns), strict=True):
            yield {"path": path, "kind": kind, "before": before, "after": None if kind == REMOVED else after}


def ingest_uri(target: str) -> Uri:
    uri = on_branch(prefix_uri(target))
    return uri._replace(path=folder(uri.path))


async def gathered(opened: "OpenRef", source: str, uri: Uri, *, keep_removed: bool, bar: bool) -> "Gathered":
    from lochan.cli.options.values import place_url
    from lochan.cli.output.progress import counted
    from lochan.versioning.gathering import Source
    from lochan.versioning.importing import for_ingest

    with counted("listing", "files", wanted=bar) as seen:
        return await for_ingest(
            opened.repository, Source(place_url(source), uri.path), keep_removed=keep_removed, seen=seen
        )
