"""`lochan status`: what is staged on a branch."""

from typing import TYPE_CHECKING

import click

from lochan.cli.commit_record import SHORT
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import counted, format_option, json_text, printable, show_record, size
from lochan.cli.uri import branch_uri, given

if TYPE_CHECKING:
    from pyarrow import Table


@click.command("status")
@click.argument("branch", metavar="[REPO[@BRANCH]]", required=False)
@format_option
def command(branch: str | None, form: str) -> None:
    """Show the head of a branch, and what a commit would change now; of a pool, what the branch holds.

    \b
    Example:
      lochan status demo@main
    """

    async def work(opened: Opened) -> None:
        if opened.is_pool:
            await _show_pool(opened, form)
            return
        from lochan.versioning.diff import staged_columns

        refs, _ = await opened.repository.refs()
        head = refs.branch(opened.ref).head
        staged = await staged_columns(opened.repository, opened.ref)
        (_show_json if form == "json" else _show_table)(opened.ref, head, staged)

    work_on(given(branch_uri, branch), work)


async def _show_pool(opened: Opened, form: str) -> None:
    from lochan.cli.pool_difference import key_cell
    from lochan.pools.objects import entries, summed_up

    refs, _ = await opened.repository.refs()
    head = refs.branch(opened.ref).head
    found = summed_up(await entries(await opened.repository.tree(refs.commit(head))), opened.pool)
    if form == "json":
        show_record({"branch": opened.ref, "head": head, **found}, form)
        return
    click.echo(f"branch {printable(opened.ref)} at {head[:SHORT]}")
    objects, rows = counted(found["objects"], "data object"), counted(found["rows"], "row")
    click.echo(f"{objects}, {rows}, {size(found['bytes'])}")
    if found["min"] is not None:
        click.echo(f"keys from {key_cell(found['min'])} to {key_cell(found['max'])}")
    if found["keyless"]:
        click.echo(f"{counted(found['keyless'], 'row')} without the key")


def _show_json(branch: str, head: str, staged: "Table") -> None:
    from lochan.cli.columns import echo_json

    click.echo(json_text({"branch": branch, "head": head}, indent=2)[: -len("\n}")] + ',\n  "staged": ', nl=False)
    echo_json(staged, indent=2)
    click.echo("\n}")


def _show_table(branch: str, head: str, staged: "Table") -> None:
    from lochan.cli.columns import echo_columns, size_cells

    click.echo(f"branch {printable(branch)} at {head[:SHORT]}")
    if not len(staged):
        click.echo("nothing is staged")
        return
    echo_columns(["STAGED", "SIZE", "PATH"], staged.select(["kind", "size", "path"]), {"size": size_cells})
