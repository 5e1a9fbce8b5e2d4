"""`lochan fs address` and `link`: bytes that another program has written become an object, without a copy."""

from typing import Any

import click

from lochan.cli.options import notes
from lochan.cli.output.objects import object_record
from lochan.cli.output.records import printable, show_answer, show_record
from lochan.cli.target import Target, object_uri, on_branch, work_on
from lochan.cli.verb import verb
from lochan.errors import Invalid


@verb("address", "lochan fs address demo@main/data/a.csv", changes=True)
@click.argument("where", metavar="REPO[@BRANCH]/PATH")
@click.option(
    "--expires",
    type=click.FloatRange(min=0, min_open=True),
    default=24.0,
    show_default=True,
    metavar="HOURS",
    help="For how many hours the token is valid.",
)
def address_command(where: str, expires: float, form: str) -> None:
    """Get an address in the lake that another program can write bytes to.

    When the bytes are there, `lochan fs link --token TOKEN` makes them the object at PATH, once.
    """
    uri = on_branch(object_uri(where))
    show_record(work_on(uri, lambda target: target.branch.address(uri.path, expires_s=expires * 3600)).as_json(), form)


@verb("link", "lochan fs link s3://bucket/a.csv demo@main/data/a.csv", changes=True)
@click.argument("words", nargs=-1, required=True, metavar="[URL] REPO[@BRANCH]/PATH")
@click.option("--token", metavar="TOKEN", help="The token from `lochan fs address`, instead of a URL.")
@click.option("--size", type=click.IntRange(min=0), metavar="BYTES", help="With --token: the expected size.")
@click.option("--checksum", metavar="MD5", help="With --token: the expected MD5, in hex.")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="Metadata of the object; may be repeated.")
@click.option("--content-type", metavar="TYPE", help="The content type, such as text/csv. Default: none.")
def link_command(
    words: tuple[str, ...],
    token: str | None,
    size: int | None,
    checksum: str | None,
    metadata: tuple[str, ...],
    content_type: str | None,
    form: str,
) -> None:
    """Link a file outside the lake as an object of a branch; with --token, link what was put at an address in the lake.

    No bytes are copied. The file must stay as it is: if it changes or disappears, the object cannot be read.
    """
    from lochan.api.local_files import place_url

    if len(words) != (1 if token else 2):
        needed = "the object's path alone" if token else "a URL and the object's path"
        raise click.UsageError(f"{'With' if token else 'Without'} --token, {needed} must be given.")
    if token is None and (size is not None or checksum is not None):
        raise Invalid("--size and --checksum are for what was put at an address", hint="give its --token too")
    uri, url = on_branch(object_uri(words[-1])), "" if token else place_url(words[0])
    pairs = notes(metadata)

    async def work(target: Target) -> dict[str, Any]:
        if token is None:
            return object_record(await target.branch.link(uri.path, url, content_type=content_type, metadata=pairs))
        return object_record(
            await target.branch.link_address(
                uri.path, token, size=size, checksum=checksum, content_type=content_type, metadata=pairs
            )
        )

    record = work_on(uri, work)
    show_answer(record, form, f"linked {printable(url or 'what was put there')} as {printable(str(uri))}")
