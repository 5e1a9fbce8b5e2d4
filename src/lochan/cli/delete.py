"""`lochan delete`: data objects, or rows, leave a branch of a pool."""

from typing import Any

import click

from lochan.cli.commit_record import SHORT
from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.said import said, said_options
from lochan.cli.shown import format_option, show_record
from lochan.cli.uri import branch_uri


@click.command("delete")
@click.argument("branch", metavar="POOL[@BRANCH]")
@click.argument("ids", nargs=-1, metavar="[ID...]")
@click.option("--where", metavar="EXPRESSION", help="Delete the rows for which this is true, such as 'status < 400'.")
@said_options
@request_key
@format_option
def command(
    branch: str,
    ids: tuple[str, ...],
    where: str | None,
    message: str,
    author: str,
    meta: tuple[str, ...],
    date: str | None,
    form: str,
) -> None:
    """Delete rows or data objects from a branch: rows with --where, objects by their ids. The beginning of an id will
    do, where only one begins so.

    Earlier commits still hold them, and `lochan revert` brings them back.

    \b
    Example:
      lochan delete logs --where 'status < 400'
    """
    if bool(ids) == (where is not None):
        raise click.UsageError("Give the ids of data objects, or --where.")
    uri = branch_uri(branch)
    words = said(message, author, meta, date)

    async def work(opened: Opened) -> dict[str, Any]:
        opened.needs_pool()
        if where is None:
            from lochan.pools.commit_objects import delete_objects

            return {"head": await delete_objects(opened.repository, opened.ref, ids, words, actor=opened.actor)}
        from lochan.engines.duckdb.delete import delete_where

        files = opened.lake.queries().files
        deleted = await delete_where(opened.repository, opened.ref, where, files, words, actor=opened.actor)
        return deleted._asdict()

    record = work_on(uri, work)
    if form == "json":
        show_record(record, form)
        return
    count, what = (record["rows"], "row") if where is not None else (len(set(ids)), "data object")
    click.echo(f"deleted {count:,} {what}{'' if count == 1 else 's'}: {record['head'][:SHORT]}")
