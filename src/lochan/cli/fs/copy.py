"""`lochan fs cp` and `mv`: objects under other paths."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.fs.listing import folder, last_name
from lochan.cli.hints import about_repository
from lochan.cli.open_ref import OpenRef, work_on
from lochan.cli.options.request_key import request_key
from lochan.cli.output.objects import object_record
from lochan.cli.output.records import format_option, printable, show_record, size
from lochan.cli.uri import Uri, object_uri, prefix_uri, writable
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.versioning.copying import Count, Told
    from lochan.versioning.open_repository import OpenRepository


@click.command("cp")
@click.argument("source", metavar="REPO[@REF]/PATH")
@click.argument("target", metavar="REPO[@BRANCH]/PATH")
@click.option("-r", "--recursive", is_flag=True, help="All objects in the folder PATH, into the folder PATH.")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="Notes instead of the source's; may be repeated.")
@click.option("--content-type", metavar="TYPE", help="Such as text/csv, instead of the source's.")
@request_key
@format_option
def cp_command(
    source: str, target: str, recursive: bool, metadata: tuple[str, ...], content_type: str | None, form: str
) -> None:
    """Copy an object, or with -r a folder, from any ref to a branch. A target that ends with a slash is a folder.

    Within a repository no byte is moved, and a folder comes as one. To another repository the bytes are moved. A copy
    onto itself changes the notes or the content type.

    \b
    Example:
      lochan fs cp -r demo@v1/data/ demo@main/data/
    """
    from lochan.cli.options.values import notes

    said = notes(metadata)
    if recursive:
        if said or content_type:
            raise click.UsageError("--metadata and --content-type are for one object, not for a folder.")
        one, other = folder_uris(source, target)
    else:
        one, other = object_uri(source), target_uri(source, target)

    async def work(opened: OpenRef) -> dict[str, Any]:
        from lochan.versioning.copying import Told

        copying = _Copying(opened, one, other, bar=form != "json")
        if recursive:
            count = await copying.folder()
            return {"objects": count.objects, "bytes": count.bytes}
        return await copying.one(Told(content_type, None, said or None))

    show_done("copied", one, other, work_on(one, work), recursive, form)


class _Copying:
    def __init__(self, opened: OpenRef, source: Uri, target: Uri, *, bar: bool) -> None:
        self._opened = opened
        self._source = source
        self._target = target
        self._bar = bar

    async def one(self, told: "Told") -> dict[str, Any]:
        from lochan.versioning.copying import copy

        here, source, target = self._opened, self._source, self._target
        if source.repository == target.repository:
            branch = here.ref_of(target)
            made = await copy(here.repository, here.ref, source.path, branch, target.path, actor=here.actor, told=told)
            return object_record(made)
        from lochan.cli.output.progress import progress
        from lochan.versioning.objects import stat
        from lochan.versioning.transfer import transfer

        total = (await stat(here.repository, here.ref, source.path)).size
        async with self._other() as there:
            with progress("copying", total, wanted=self._bar) as advance:
                made = await transfer(
                    here.repository,
                    here.ref,
                    source.path,
                    there,
                    target.ref or there.repository.default_branch,
                    target.path,
                    actor=here.actor,
                    told=told,
                    advance=advance,
                )
        return object_record(made)

    async def folder(self) -> "Count":
        from lochan.cli.output.progress import counted, progress
        from lochan.versioning.copying import copy_folder

        here, source, target = self._opened, self._source, self._target
        if source.repository == target.repository:
            branch = here.ref_of(target)
            with counted("looking for the bytes", "files", wanted=self._bar) as seen:
                return await copy_folder(
                    here.repository, here.ref, source.path, branch, target.path, actor=here.actor, seen=seen
                )
        from lochan.versioning.transfer import transfer_folder

        async with self._other() as there:
            with progress("copying", None, wanted=self._bar) as advance:
                return await transfer_folder(
                    here.repository,
                    here.ref,
                    source.path,
                    there,
                    target.ref or there.repository.default_branch,
                    target.path,
                    actor=here.actor,
                    advance=advance,
                )

    @asynccontextmanager
    async def _other(self) -> AsyncIterator["OpenRepository"]:
        there = await self._opened.lake.open_repository(self._target.repository)
        about_repository(self._target.repository)
        try:
            yield there
        finally:
            await there.close()


def target_uri(source: str, target: str) -> Uri:
    """Where an object goes that keeps its name unless the target says another. Raises Invalid."""
    one, other = object_uri(source), writable(prefix_uri(target))
    if not other.path or other.path.endswith("/"):
        other = other._replace(path=other.path + last_name(one.path))
    return other


def folder_uris(source: str, target: str) -> tuple[Uri, Uri]:
    """Two folders; without a path, everything."""
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


@click.command("mv")
@click.argument("source", metavar="REPO[@BRANCH]/PATH")
@click.argument("target", metavar="REPO[@BRANCH]/PATH")
@click.option("-r", "--recursive", is_flag=True, help="All objects in the folder PATH, into the folder PATH.")
@request_key
@format_option
def mv_command(source: str, target: str, recursive: bool, form: str) -> None:
    """Move an object, or with -r a folder, on one branch: nobody sees it twice, or nowhere.

    A target that ends with a slash is a folder.

    \b
    Example:
      lochan fs mv demo@main/a.csv demo@main/data/a.csv
    """
    one, other = folder_uris(source, target) if recursive else (object_uri(source), target_uri(source, target))
    writable(one)
    same_repository(one, other)

    async def work(opened: OpenRef) -> dict[str, Any]:
        from lochan.versioning.copying import move, move_folder

        opened.needs_files()
        if opened.ref_of(other) != opened.ref:
            raise Invalid(f"{one} and {other} are on different branches", hint="copy it, then remove the source")
        if recursive:
            done = await move_folder(opened.repository, opened.ref, one.path, other.path, actor=opened.actor)
            return {"objects": done.objects, "bytes": done.bytes}
        return object_record(await move(opened.repository, opened.ref, one.path, other.path, actor=opened.actor))

    show_done("moved", one, other, work_on(one, work), recursive, form)
