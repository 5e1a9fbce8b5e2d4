"""`lochan create`: a new pool."""

from typing import TYPE_CHECKING

import click

from lochan.cli.notes import notes
from lochan.cli.repo_record import repository_record
from lochan.cli.request_key import request_key_beside_sort_key
from lochan.cli.shown import format_option, printable, show_record

if TYPE_CHECKING:
    from lochan.versioning.repositories import Repository


@click.command("create")
@click.argument("name", metavar="POOL")
@click.option(
    "--key",
    "keys",
    multiple=True,
    metavar="PATH[:time][:asc|:desc]",
    help="What rows are sorted by: a field, or `this`, the whole record. May be repeated, the first counts most.",
)
@click.option("--time", "times", multiple=True, metavar="PATH", help="A field whose texts are times; may be repeated.")
@click.option(
    "--primary-key",
    multiple=True,
    metavar="PATH",
    help="A field by which `diff --rows` and merges know a changed row again; may be repeated. Rows with the same "
    "value are all kept: loads check and replace nothing.",
)
@click.option(
    "--nulls",
    type=click.Choice(["first", "last"]),
    default="last",
    show_default=True,
    help="Where rows without the key stand when it ascends.",
)
@click.option("--size", default="256MiB", show_default=True, metavar="SIZE", help="How large data objects are to be.")
@click.option("--default-branch", default="main", show_default=True, metavar="BRANCH", help="Its first branch.")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="A note kept with it; may be repeated.")
@request_key_beside_sort_key
@format_option
def command(
    name: str,
    keys: tuple[str, ...],
    times: tuple[str, ...],
    primary_key: tuple[str, ...],
    nulls: str,
    size: str,
    default_branch: str,
    metadata: tuple[str, ...],
    form: str,
) -> None:
    """Create a pool: rows of any shape, sorted by a key.

    Without a key the whole record is the key. A field is named by its path, such as client.address; a name with a dot
    in it stands in back-quotes.

    \b
    Example:
      lochan create logs --key ts:time
    """
    from lochan.cli.session import actor, configuration, open_lake, run
    from lochan.cli.sizes import size_bytes
    from lochan.pools.settings import parse

    config = configuration()
    settings = parse(keys, nulls=nulls, size_bytes=size_bytes("--size", size), times=times, primary_key=primary_key)
    said = notes(metadata)

    async def work() -> "Repository":
        async with open_lake(config) as lake:
            return await lake.create_pool(
                name, settings, default_branch=default_branch, metadata=said, actor=actor(config)
            )

    pool = run(config, work())
    if form == "json":
        show_record(repository_record(pool), form)
    else:
        sorted_by = ", ".join(map(str, settings.keys))
        click.echo(f"created pool {printable(pool.name)}, sorted by {printable(sorted_by)}")
