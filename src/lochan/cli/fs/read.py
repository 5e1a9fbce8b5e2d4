"""`lochan fs ls`, `stat`, `cat` and `download`: objects of a ref, for reading."""

import sys
from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.error_boundary import print_message
from lochan.cli.output.objects import object_record
from lochan.cli.output.progress import progress
from lochan.cli.output.record_stream import closing, show_page, show_stream
from lochan.cli.output.records import Record, printable, show_record, show_records, size, size_cell
from lochan.cli.session import is_remote
from lochan.cli.target import Target, object_uri, prefix_uri, work_on
from lochan.cli.verb import verb
from lochan.errors import NotFound, Refused

if TYPE_CHECKING:
    from pyarrow import Table

    from lochan.api.object_results import ObjectPage
    from lochan.api.ref import Ref

_TABLE_ROWS = 1 << 16  # how many rows of a long list are read at once
_COLUMNS = ("size", "mtime", "path")
_CELLS = {"size": size_cell}


@verb("ls", "lochan fs ls demo@main/data/")
@click.argument("where", metavar="REPO[@REF][/PREFIX]")
@click.option("-r", "--recursive", is_flag=True, help="List all objects, not only the next folders.")
def ls_command(where: str, recursive: bool, form: str) -> None:
    """List the objects whose paths begin with PREFIX. On a branch, this includes what is staged."""
    uri = prefix_uri(where)

    async def first_page(target: Target) -> list[Record] | None:
        """Returns the page, or None if there are more; then they are read once more, and printed page by page."""
        page = await target.ref.list_page(uri.path, delimiter="" if recursive else "/")
        if uri.path and not page.objects and not page.prefixes:
            where = uri.ref or (await target.repository.show()).default_branch
            raise NotFound(f"no object begins with {uri.path!r} at {where}").named(uri.path)
        return _page_records(page) if page.next is None else None

    async def all_pages(target: Target) -> None:
        if recursive and form == "table" and not is_remote():
            from lochan.cli.output.columns import show_tables, size_cells, time_cells

            tables = _tables(await target.ref.snapshot(), uri.path)
            await show_tables(tables, columns=_COLUMNS, cells={"size": size_cells, "mtime": time_cells})
            return
        records = _records(target, uri.path, "" if recursive else "/")
        await show_stream(records, form, columns=_COLUMNS, cells=_CELLS)

    found = work_on(uri, first_page, reads=True)
    if found is None:
        work_on(uri, all_pages)
    else:
        show_page(found, form, columns=_COLUMNS, cells=_CELLS)


async def _tables(ref: "Ref", prefix: str) -> AsyncIterator["Table"]:
    after: str | None = ""
    while after is not None:
        page = await ref.list_table(prefix, after=after, limit=_TABLE_ROWS)
        yield page.objects
        after = page.next


async def _records(target: Target, prefix: str, delimiter: str) -> AsyncIterator[Record]:
    async with closing(target.ref.list_pages(prefix, delimiter=delimiter)) as pages:
        async for page in pages:
            for record in _page_records(page):
                yield record


def _page_records(page: "ObjectPage") -> list[Record]:
    found = [*map(object_record, page.objects), *map(_prefix_record, page.prefixes)]
    return sorted(found, key=lambda record: record["path"].encode())


def _prefix_record(prefix: str) -> dict[str, Any]:
    return {"path": prefix, "type": "prefix", "size": None, "mtime": None}


@verb("stat", "lochan fs stat demo@main/data/a.csv")
@click.argument("where", metavar="REPO[@REF]/PATH")
@click.option("--blocks", is_flag=True, help="Also show the files that hold its bytes.")
def stat_command(where: str, blocks: bool, form: str) -> None:
    """Show the details of an object."""
    uri = object_uri(where)

    async def work(target: Target) -> dict[str, Any]:
        found = await target.ref.details(uri.path)
        record = found.as_json()
        return {**object_record(found.info), **{name: record[name] for name in ("headers", "checksums", "blocks")}}

    record = work_on(uri, work, reads=True)
    if form == "json":
        show_record(record, form)
        return
    found = record.pop("blocks")
    show_record({**record, "blocks": len(found)}, form)
    if blocks:
        click.echo()
        show_records(found, form, columns=("offset", "size", "sha256", "address"))


@verb("presign", "lochan fs presign demo@main/data/a.csv")
@click.argument("where", metavar="REPO[@REF]/PATH")
@click.option(
    "--expires",
    type=click.FloatRange(min=0, min_open=True),
    default=0.25,
    show_default=True,
    metavar="HOURS",
    help="For how many hours the URL is valid, up to 168.",
)
def presign_command(where: str, expires: float, form: str) -> None:
    """Make a URL that anybody can read an object by, from the store itself.

    On a local disk there is none. A server gives out URLs on every store.
    """
    uri = object_uri(where)
    found = work_on(uri, lambda target: target.ref.presign(uri.path, expires_s=expires * 3600))
    if found is None:
        raise Refused(
            f"no URL can be signed for {uri.path!r}: the store cannot sign, or the object shares a file with others",
            hint="sign a URL of a server's S3 gateway, or ask its REST API (presign=true)",
        )
    show_record(found.as_json(), form)


@verb("cat", "lochan fs cat demo@main/data/a.csv", form=False)
@click.argument("where", metavar="REPO[@REF]/PATH")
def cat_command(where: str) -> None:
    """Write the bytes of an object to standard output."""
    uri = object_uri(where)

    async def work(target: Target) -> None:
        out = sys.stdout.buffer
        async with closing(target.ref.stream(uri.path)) as pieces:
            async for piece in pieces:
                out.write(piece)
        out.flush()

    work_on(uri, work)


@verb("download", "lochan fs download -r demo@main/data/ data")
@click.argument("where", metavar="REPO[@REF]/PATH")
@click.argument("target", default=".")
@click.option("-r", "--recursive", is_flag=True, help="All objects in the folder PATH, into the folder TARGET.")
@click.option("--force", is_flag=True, help="Replace files that are there already.")
def download_command(where: str, target: str, recursive: bool, force: bool, form: str) -> None:
    """Download an object, or with -r all objects in a folder. Without TARGET, to the working folder.

    A file that is there already is not replaced; then nothing is written. With -r, objects that no file can be made of
    (`..`, an empty name, `a` beside `a/b`, a name that is too long) are left out and listed, and the exit code is 5.
    """
    uri = prefix_uri(where) if recursive else object_uri(where)

    bar = partial(progress, "downloading", visible=form != "json")

    async def work(at: Target) -> tuple[int, int, int]:
        if not recursive:
            one = await at.ref.download(uri.path, target, force=force, progress=bar)
            return one.objects, one.bytes, 0
        done = await at.ref.download_folder(uri.path, target, force=force, progress=bar, report=print_message)
        return done.objects, done.bytes, done.skipped

    count, written_bytes, skipped = work_on(uri, work)
    if form == "json":
        show_record({"objects": count, "bytes": written_bytes, "skipped": skipped}, form)
    else:
        what = f"{count} objects" if recursive else printable(str(uri))
        click.echo(f"downloaded {what} ({size(written_bytes)})")
    if skipped:
        were = "object was" if skipped == 1 else "objects were"
        raise Refused(f"{skipped:,} {were} not downloaded", hint="their names cannot be files here")
