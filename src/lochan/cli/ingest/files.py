"""`lochan import`, `ingest commit` and `ingest diff`: files of a bucket or a folder become objects, without a copy."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from lochan.api.local_files import place_url
from lochan.cli.ingest.lakefs import LakefsOptions, import_from_lakefs, lakefs_options
from lochan.cli.options import notes
from lochan.cli.output.objects import listing_conflicts
from lochan.cli.output.progress import count_progress
from lochan.cli.output.records import SHORT, printable, show_record, size, size_cell
from lochan.cli.target import Target, Uri, folder, on_branch, prefix_uri, work_on
from lochan.cli.verb import verb
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.api.imports import ImportSource


_PLACES = (
    click.option("--from-path", "source", required=True, metavar="URL", help="The folder or prefix outside the lake."),
    click.option(
        "--to-path", "target", required=True, metavar="REPO[@BRANCH][/PREFIX]", help="Where its files appear."
    ),
    click.option("--keep-removed", is_flag=True, help="Keep objects that are no longer at the source."),
)
_INVENTORY = (
    click.option(
        "--inventory",
        default="",
        metavar="FILE|URL",
        help="Read the files from this list instead of listing them: the manifest.json of an S3 Inventory, or a CSV, "
        "NDJSON or Parquet file with the columns url or path, size, etag, mtime.",
    ),
    click.option(
        "--verify", is_flag=True, help="Ask the store for every file of the inventory. Default: for some of them."
    ),
    click.option(
        "--engine",
        type=click.Choice(["auto", "spark"]),
        default="auto",
        show_default=True,
        help="Where the files are listed: in this process, or by tasks of Spark.",
    ),
    click.option("--master", metavar="URL", help="The Spark master. Default: as configured, or else local[*]."),
)


def places(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that both verbs have."""
    for option in reversed((*_PLACES, *_INVENTORY)):
        verb = option(verb)
    return verb


def inventory_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_INVENTORY):
        verb = option(verb)
    return verb


def inventory_of(inventory: str, verify: bool) -> dict[str, Any]:
    """Returns the fields of a source. Raises Invalid."""
    if verify and not inventory:
        raise Invalid("--verify is for --inventory", hint="files that are listed need no check")
    return {"inventory": place_url(inventory) if inventory else "", "verify": verify}


@verb(
    "import",
    "lochan import s3://bucket/data/ demo@main/data/",
    "lochan import --from-lakefs https://lakefs.example.org --repo shop",
    changes=True,
)
@click.argument("source", metavar="URL", required=False)
@click.argument("target", metavar="REPO[@BRANCH][/PREFIX]", required=False)
@lakefs_options
@click.option(
    "--path", "paths", multiple=True, metavar="URL=PREFIX", help="Another source with its prefix; may be repeated."
)
@click.option("-m", "--message", default="", help="The commit message.")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="Metadata of the commit; may be repeated.")
@inventory_options
@click.option("--dry-run", is_flag=True, help="Only show what would be imported.")
def import_command(
    source: str | None,
    target: str | None,
    lakefs: str | None,
    repositories: tuple[str, ...],
    to: str,
    bodies: str,
    link_also: tuple[str, ...],
    paths: tuple[str, ...],
    inventory: str,
    verify: bool,
    engine: str,
    master: str | None,
    message: str,
    metadata: tuple[str, ...],
    dry_run: bool,
    form: str,
) -> None:
    """Import files into a branch without copying them: all under a URL (s3://, gs://, az://, file://, or a local
    folder), as one commit.

    No bytes are copied: the files must stay where they are. Objects at the same paths are replaced, others stay. If
    such a path has uncommitted changes, it is listed, nothing is imported, and the exit code is 4.

    With --from-lakefs, whole repositories of a lakeFS with their branches, tags and commits. Run again, it goes on
    where it was, and brings what was committed there since. The keys are those of lakectl:
    LAKECTL_CREDENTIALS_ACCESS_KEY_ID and LAKECTL_CREDENTIALS_SECRET_ACCESS_KEY, or those in ~/.lakectl.yaml.
    """
    from lochan.api.options import CommitOptions, EngineOptions

    if lakefs is not None:
        migration = LakefsOptions(repositories, to, bodies, link_also)
        import_from_lakefs(lakefs, migration, others=(source, target, *paths, inventory, message), form=form)
        return
    if source is None or target is None:
        raise click.UsageError("a URL and a REPO[@BRANCH][/PREFIX] are needed, or --from-lakefs URL")
    uri = on_branch(prefix_uri(target))
    options = CommitOptions(message=message, metadata=notes(metadata))
    chosen = EngineOptions(engine=engine, master=master)
    sources = list(_import_sources(source, uri, paths, inventory_of(inventory, verify)))

    async def work(at: Target) -> dict[str, Any]:
        with count_progress("listing", "files", visible=form != "json") as seen:
            if dry_run:
                return (await at.branch.try_import(sources, engine=chosen, progress=seen)).as_json()
            async with listing_conflicts(form):
                return (await at.branch.import_files(sources, options, engine=chosen, progress=seen)).as_json()

    show_brought_in("import", work_on(uri, work), form)


def show_brought_in(verb: str, record: dict[str, Any], form: str) -> None:
    if form == "json":
        show_record(record, form)
        return
    done = f"{verb}ed as {record['commit'][:SHORT]}" if record["commit"] else f"would {verb}"
    counts = ", ".join(f"{record[kind]} {kind}" for kind in ("added", "changed", "removed"))
    click.echo(f"{printable(done)}: {counts} ({size(record['bytes'])})")


def _import_sources(
    source: str, uri: Uri, paths: tuple[str, ...], inventory: dict[str, Any]
) -> "Iterator[ImportSource]":
    from lochan.api.imports import ImportSource

    yield ImportSource(place_url(source), folder(uri.path), **inventory)
    for text in paths:
        url, found, prefix = text.rpartition("=")
        if not found or not url:
            raise Invalid(f"--path {text!r}: a source is given as URL=PREFIX", hint="such as --path s3://b/logs=logs/")
        yield ImportSource(place_url(url), folder(prefix))


@verb("commit", "lochan ingest commit --from-path s3://bucket/data/ --to-path demo@main/data/ -m daily", changes=True)
@places
@click.option("-m", "--message", default="", help="The commit message.")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="Metadata of the commit; may be repeated.")
def commit_command(
    source: str,
    target: str,
    keep_removed: bool,
    inventory: str,
    verify: bool,
    engine: str,
    master: str | None,
    message: str,
    metadata: tuple[str, ...],
    form: str,
) -> None:
    """Make a prefix of a branch the same as a source, in one commit.

    Files that were added, changed (by size and ETag) or removed at the source are added, changed and removed here. No
    bytes are copied. If nothing would change, the exit code is 6.
    """
    from lochan.api.options import CommitOptions, EngineOptions

    uri = ingest_uri(target)
    options = CommitOptions(message=message, metadata=notes(metadata))
    chosen = EngineOptions(engine=engine, master=master)

    async def work(at: Target) -> dict[str, Any]:
        found = ingest_source(source, uri, inventory_of(inventory, verify))
        with count_progress("listing", "files", visible=form != "json") as seen:
            async with listing_conflicts(form):
                done = await at.branch.ingest(found, options, keep_removed=keep_removed, engine=chosen, progress=seen)
        return done.as_json()

    show_brought_in("ingest", work_on(uri, work), form)


@verb("diff", "lochan ingest diff --from-path s3://bucket/data/ --to-path demo@main/data/")
@places
def diff_command(
    source: str,
    target: str,
    keep_removed: bool,
    inventory: str,
    verify: bool,
    engine: str,
    master: str | None,
    form: str,
) -> None:
    """Show what `ingest commit` would add, change and remove now."""
    from lochan.api.options import EngineOptions

    uri = ingest_uri(target)
    chosen = EngineOptions(engine=engine, master=master)

    async def work(at: Target) -> None:
        from lochan.cli.output.record_stream import as_records, show_stream

        cells = {"before": size_cell, "after": size_cell}
        with count_progress("listing", "files", visible=form != "json") as seen:
            found = ingest_source(source, uri, inventory_of(inventory, verify))
            changes = at.branch.ingest_diff(found, keep_removed=keep_removed, engine=chosen, progress=seen)
            await show_stream(as_records(changes), form, columns=("kind", "before", "after", "path"), cells=cells)

    work_on(uri, work)


def ingest_uri(target: str) -> Uri:
    uri = on_branch(prefix_uri(target))
    return uri._replace(path=folder(uri.path))


def ingest_source(source: str, uri: Uri, inventory: dict[str, Any] | None = None) -> "ImportSource":
    from lochan.api.imports import ImportSource

    return ImportSource(place_url(source), uri.path, **(inventory or {}))
