"""`lochan fs link`: bytes that lie somewhere already become an object, without a copy."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.object_record import object_record
from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record
from lochan.cli.uri import Uri, object_uri, on_branch
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.formats.entry import Entry
    from lochan.versioning.copy import CopyOptions


@click.command("link")
@click.argument("words", nargs=-1, required=True, metavar="[URL] REPO[@BRANCH]/PATH")
@click.option("--token", metavar="TOKEN", help="What `lochan fs address` gave, instead of a URL.")
@click.option("--size", type=click.IntRange(min=0), metavar="BYTES", help="With --token: the size there must be.")
@click.option("--checksum", metavar="MD5", help="With --token: the MD5 there must be, in hex.")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="A note kept with the object; may be repeated.")
@click.option("--content-type", metavar="TYPE", help="Such as text/csv.")
@request_key
@format_option
def command(
    words: tuple[str, ...],
    token: str | None,
    size: int | None,
    checksum: str | None,
    metadata: tuple[str, ...],
    content_type: str | None,
    form: str,
) -> None:
    """Make a file outside the lake an object of a branch; or, with --token, what was put at an address in the lake.

    No byte is moved. A file outside must stay there as it is: if it changes or goes, the object cannot be read.

    \b
    Example:
      lochan fs link s3://bucket/a.csv demo@main/data/a.csv
    """
    from lochan.cli.notes import notes
    from lochan.cli.places import place_url

    if len(words) != (1 if token else 2):
        wanted = "the object's path alone" if token else "a URL and the object's path"
        raise click.UsageError(f"{'With' if token else 'Without'} --token, {wanted} must be given.")
    if token is None and (size is not None or checksum is not None):
        raise Invalid("--size and --checksum are for what was put at an address", hint="give its --token too")
    uri, url = on_branch(object_uri(words[-1])), "" if token else place_url(words[0])
    said = notes(metadata)

    async def work(opened: Opened) -> dict[str, Any]:
        from lochan.versioning.copy import CopyOptions

        told = CopyOptions(content_type, None, said or None)
        if token is None:
            return object_record(await _outside(opened, uri, url, told))
        return object_record(await _by_token(opened, uri, token, size, checksum, told))

    record = work_on(uri, work)
    if form == "json":
        show_record(record, form)
    else:
        click.echo(f"linked {printable(url or 'what was put there')} as {printable(str(uri))}")


async def _outside(opened: Opened, uri: Uri, url: str, told: "CopyOptions") -> "Entry":
    from lochan.versioning.links import stage

    return await stage(opened.repository, opened.ref, uri.path, url, actor=opened.actor, told=told)


async def _by_token(
    opened: Opened, uri: Uri, token: str, size: int | None, checksum: str | None, told: "CopyOptions"
) -> "Entry":
    from lochan.versioning.links import LinkOptions, link

    declared = LinkOptions(size, checksum)
    return await link(opened.repository, opened.ref, uri.path, token, actor=opened.actor, declared=declared, told=told)
