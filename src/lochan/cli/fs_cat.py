"""`lochan fs cat`: the bytes of an object, as they are."""

import sys
from contextlib import aclosing

import click

from lochan.cli.opened import Opened, work_on
from lochan.cli.uri import object_uri


@click.command("cat")
@click.argument("where", metavar="REPO[@REF]/PATH")
def command(where: str) -> None:
    """Write the bytes of an object to standard output.

    \b
    Example:
      lochan fs cat demo@main/data/a.csv
    """
    uri = object_uri(where)

    async def work(opened: Opened) -> None:
        from lochan.versioning.objects import read, stat

        entry = await stat(opened.repository, opened.ref, uri.path)
        out = sys.stdout.buffer
        async with aclosing(read(opened.repository, entry)) as pieces:
            async for piece in pieces:
                out.write(piece)
        out.flush()

    work_on(uri, work)
