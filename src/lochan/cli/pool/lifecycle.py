"""`lochan create`, `delete` and `drop`: pools, and rows or data objects of them."""

from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.options import commit_message, commit_options, confirm, notes, yes_option
from lochan.cli.output.records import SHORT, printable, show_answer, show_record
from lochan.cli.request_key import is_repeated
from lochan.cli.target import Target, branch_uri, work_on
from lochan.cli.verb import verb
from lochan.errors import NotFound, Refused

if TYPE_CHECKING:
    from lochan.api.lake import Lake
    from lochan.api.results import RepositoryInfo


@verb("create", "lochan create logs --key ts:time", changes=True)
@click.argument("name", metavar="POOL")
@click.option(
    "--key",
    "keys",
    multiple=True,
    metavar="PATH[:time][:asc|:desc]",
    help="A field that rows are sorted by, or `this`, the whole record; may be repeated. Default: `this`.",
)
@click.option(
    "--time", "times", multiple=True, metavar="PATH", help="A field whose strings are times; may be repeated."
)
@click.option(
    "--primary-key",
    multiple=True,
    metavar="PATH",
    help="A field that identifies a row for `diff --rows` and merges; may be repeated. Loads do not check it, and keep "
    "all rows with the same value.",
)
@click.option(
    "--nulls",
    type=click.Choice(["first", "last"]),
    default="last",
    show_default=True,
    help="Where rows without the key are sorted, in ascending order.",
)
@click.option("--size", default="256MiB", show_default=True, metavar="SIZE", help="The size of data objects.")
@click.option(
    "--default-branch", default="main", show_default=True, metavar="BRANCH", help="The name of its first branch."
)
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="Metadata; may be repeated.")
def create_command(
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

    Without a key the whole record is the key. A field is named by its path, such as client.address. A name that
    contains a dot goes in back-quotes.
    """
    from lochan.cli.options import size_bytes
    from lochan.cli.session import on_lake

    size_of_objects, pairs = size_bytes("--size", size), notes(metadata)

    async def work(lake: "Lake") -> "RepositoryInfo":
        made = await lake.create_pool(
            name,
            key=keys,
            times=times,
            primary_key=primary_key,
            nulls=nulls,
            size_bytes=size_of_objects,
            default_branch=default_branch,
            metadata=pairs,
        )
        return await made.show()

    pool = on_lake(work)
    if form == "json":
        show_record(pool.as_json(), form)
    else:
        assert pool.pool is not None, "it was just made"
        click.echo(f"created pool {printable(pool.name)}, sorted by {printable(', '.join(pool.pool.keys))}")


@verb("delete", "lochan delete logs --where 'status < 400'", changes=True)
@click.argument("branch", metavar="POOL[@BRANCH]")
@click.argument("ids", nargs=-1, metavar="[ID...]")
@click.option("--where", metavar="EXPRESSION", help="Delete the rows for which this is true, such as 'status < 400'.")
@commit_options
def delete_command(
    branch: str,
    ids: tuple[str, ...],
    where: str | None,
    message: str,
    author: str,
    meta: tuple[str, ...],
    date: str | None,
    form: str,
) -> None:
    """Delete rows or data objects from a branch: rows with --where, objects by their ids. The beginning of an id is
    enough if no other id begins with it.

    Earlier commits still hold them, and `lochan revert` brings them back.
    """
    if bool(ids) == (where is not None):
        raise click.UsageError("Give the ids of data objects, or --where.")
    uri = branch_uri(branch)
    words = commit_message(message, author, meta, date)

    async def work(target: Target) -> dict[str, Any]:
        if where is None:
            return {"head": await target.pool.delete_objects(ids, words, branch=uri.ref)}
        return (await target.pool.delete_rows(where, words, branch=uri.ref)).as_json()

    record = work_on(uri, work)
    if form == "json":
        show_record(record, form)
        return
    count, what = (record["rows"], "row") if where is not None else (len(set(ids)), "data object")
    click.echo(f"deleted {count:,} {what}{'' if count == 1 else 's'}: {record['head'][:SHORT]}")


@verb("drop", "lochan drop logs", changes=True)
@click.argument("pool")
@click.option("--force", is_flag=True, help="Drop it even if it is read-only.")
@yes_option
def drop_command(pool: str, force: bool, yes: bool, form: str) -> None:
    """Drop a pool: its rows, its branches, tags and history.

    `lochan pool restore` brings it back, within 30 days unless `lochan gc rules set --undo-days` says otherwise. On a
    terminal it asks first; a script must give --yes.
    """
    from lochan.cli.session import on_lake

    async def look(lake: "Lake") -> None:
        try:
            there = await lake.repository(pool).show()
        except NotFound:
            if is_repeated(click.get_current_context()):
                return  # the journal finds out whether this drop was requested before
            raise
        if there.kind != "pool":
            raise Refused(
                f"{pool!r} is not a pool", hint=f"`lochan repo delete {quote(pool)}` deletes a repository of files"
            )

    async def drop(lake: "Lake") -> None:
        await lake.pool(pool).delete(force=force)

    on_lake(look, reads=True)  # so that users are not asked to confirm a name that does not exist
    if not yes:
        confirm(f"Drop pool {pool} with all its history?", f"pool {pool} was not dropped")
    on_lake(drop)
    show_answer({"dropped": pool}, form, f"dropped pool {printable(pool)}")
