"""`lochan ingest commit`: what is new, other and gone at the source becomes one commit."""

from typing import Any

import click

from lochan.cli.import_ import brought_in, show_brought_in
from lochan.cli.ingest_places import gathered, ingest_uri, places
from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option


@click.command("commit")
@places
@click.option("-m", "--message", default="", help="What the commit is to say.")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="A note of the commit; may be repeated.")
@request_key
@format_option
def command(source: str, target: str, keep_removed: bool, message: str, metadata: tuple[str, ...], form: str) -> None:
    """Make a prefix of a branch the same as the source. All changes are one commit.

    Files that were added there, changed (by size and ETag) or removed are added, changed and removed here; nothing is
    copied. Where nothing would change, the exit code is 6.

    \b
    Example:
      lochan ingest commit --from-path s3://bucket/data/ --to-path demo@main/data/ -m daily
    """
    from lochan.cli.notes import notes

    uri, said = ingest_uri(target), notes(metadata)

    async def work(opened: Opened) -> dict[str, Any]:
        from lochan.versioning.head_moves import CommitMessage

        opened.needs_files()
        found = await gathered(opened, source, uri, keep_removed=keep_removed, bar=form != "json")
        return await brought_in(opened, found, CommitMessage(message, said), form, dry_run=False)

    show_brought_in("ingest", work_on(uri, work), form)
