"""`lochan status`, `commit` and `reset`: what is staged on a branch."""

from typing import TYPE_CHECKING

import click

from lochan.cli.options import confirm, notes, time, yes_option
from lochan.cli.output.records import SHORT, count_noun, json_text, printable, show_answer, show_record, size, title
from lochan.cli.session import is_warm
from lochan.cli.target import Target, branch_uri, optional_uri, work_on
from lochan.cli.verb import verb
from lochan.errors import Invalid

if TYPE_CHECKING:
    from pyarrow import Table

    from lochan.api.results import PoolSummary


@verb("status", "lochan status demo@main")
@click.argument("branch", metavar="[REPO[@BRANCH]]", required=False)
def status_command(branch: str | None, form: str) -> None:
    """Show the head of a branch and what a commit would change; for a pool, what the branch holds.

    Without REPO, in the folder of a checkout, show what was changed there.
    """
    from lochan.cli import checkout

    if branch is None and checkout.is_in_checkout():
        checkout.show_status(form)
        return

    async def work(target: Target) -> None:
        if await target.is_pool():
            _show_pool(await target.pool.summary(target.uri.ref), form)
            return
        found = await target.branch.show()
        staged = await target.branch.status_table()
        (_show_json if form == "json" else _show_table)(found.name, found.head, staged)

    work_on(optional_uri(branch_uri, branch), work, reads=is_warm())


def _show_pool(found: "PoolSummary", form: str) -> None:
    from lochan.cli.output.objects import key_cell

    if form == "json":
        show_record(found.as_json(), form)
        return
    click.echo(f"branch {printable(found.branch)} at {found.head[:SHORT]}")
    click.echo(f"{count_noun(found.objects, 'data object')}, {count_noun(found.rows, 'row')}, {size(found.bytes)}")
    if found.min is not None:
        click.echo(f"keys from {key_cell(found.min)} to {key_cell(found.max)}")
    if found.keyless:
        click.echo(f"{count_noun(found.keyless, 'row')} without the key")


def _show_json(branch: str, head: str, staged: "Table") -> None:
    from lochan.cli.output.columns import echo_json

    click.echo(json_text({"branch": branch, "head": head}, indent=2)[: -len("\n}")] + ',\n  "staged": ', nl=False)
    echo_json(staged, indent=2)
    click.echo("\n}")


def _show_table(branch: str, head: str, staged: "Table") -> None:
    from lochan.cli.output.columns import echo_columns, size_cells

    click.echo(f"branch {printable(branch)} at {head[:SHORT]}")
    if not len(staged):
        click.echo("nothing is staged")
        return
    echo_columns(["STAGED", "SIZE", "PATH"], staged.select(["kind", "size", "path"]), {"size": size_cells})


@verb("commit", "lochan commit demo@main -m 'new prices'", changes=True)
@click.argument("branch", metavar="[REPO[@BRANCH]]", required=False)
@click.argument("paths", nargs=-1, metavar="[PATH-OR-GLOB]...")
@click.option("-m", "--message", required=True, help="The commit message.")
@click.option(
    "--meta",
    "--metadata",
    "metadata",
    multiple=True,
    metavar="KEY=VALUE",
    help="Metadata of the commit; may be repeated.",
)
@click.option("--allow-empty", is_flag=True, help="Commit even if nothing changes.")
@click.option("--author", default="", metavar="NAME", help="The author. Default: you.")
@click.option("--date", metavar="TIME", help="The date of the commit, in ISO 8601. Default: now.")
def commit_command(
    branch: str | None,
    paths: tuple[str, ...],
    message: str,
    metadata: tuple[str, ...],
    allow_empty: bool,
    author: str,
    date: str | None,
    form: str,
) -> None:
    """Commit what is staged on a branch: all of it, or only what matches the given paths and globs.

    In a glob, * and ? stay within a folder and ** goes across folders. What does not match stays staged. Without REPO,
    in the folder of a checkout, commit everything that was changed there.
    """
    from lochan.api.options import CommitOptions
    from lochan.cli import checkout

    options = CommitOptions(message=message, metadata=notes(metadata), author=author, date=time("--date", date))
    if branch is None:
        if not checkout.is_in_checkout():
            raise Invalid(
                "no branch was named, and this folder is not in a checkout", hint="name one, such as demo@main"
            )
        if allow_empty:
            raise Invalid("--allow-empty is not for a checkout", hint="name the branch, such as demo@main")
        checkout.commit_changes(options, form)
        return
    uri = branch_uri(branch)

    made = work_on(
        uri, lambda target: target.branch.commit(options=options, paths=paths, allow_empty=allow_empty)
    ).as_json()
    show_answer(made, form, f"committed {made['id'][:SHORT]}: {printable(title(message))}")


@verb("reset", "lochan reset demo@main", changes=True)
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.option("--hard", "target", metavar="REF", help="Also move the branch to that commit.")
@click.option("--path", "paths", multiple=True, metavar="PATH", help="Only what is staged at PATH; may be repeated.")
@click.option("--prefix", metavar="PREFIX", help="Only what is staged at paths that begin with PREFIX.")
@yes_option
def reset_command(
    branch: str, target: str | None, paths: tuple[str, ...], prefix: str | None, yes: bool, form: str
) -> None:
    """Drop what is staged on a branch, or some of it. With --hard, also move the branch to REF.

    On a terminal it asks first; a script must give --yes.
    """
    uri = branch_uri(branch)
    if not yes:
        where = "there" if paths or prefix is not None else "on it"
        what = f"what is staged {where} goes" if target is None else f"it moves to {target}, and what is staged goes"
        confirm(f"Reset {uri}: {what}?", f"{uri} was not reset")

    head = work_on(uri, lambda at: at.branch.reset(target, paths=paths, prefix=prefix)).id
    show_answer({"head": head}, form, f"reset {printable(str(uri))} to {head[:SHORT]}")
