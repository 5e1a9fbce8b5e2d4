"""`lochan workspace`: a private layer over a branch, written to as plain files, committed once or dropped."""

from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.open_ref import OpenRef, work_on
from lochan.cli.options.request_key import request_key
from lochan.cli.options.values import notes
from lochan.cli.output.commits import SHORT, commit_record, title
from lochan.cli.output.records import format_option, instant, printable, show_record, show_records
from lochan.cli.prompt import confirm
from lochan.cli.uri import branch_uri, prefix_uri, repository_uri
from lochan.errors import Invalid
from lochan.versioning.expression import parse

if TYPE_CHECKING:
    from lochan.cli.uri import Uri
    from lochan.versioning.state.workspaces import Workspace


@click.group("workspace", cls=LazyGroup)
def group() -> None:
    """A place of one's own over a branch: written to as plain files, committed once, or dropped."""


@group.command("create")
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.option("--note", default="", help="What it is for.")
@click.option("-q", "--quiet", is_flag=True, help="Print only its id.")
@request_key
@format_option
def create_command(branch: str, note: str, quiet: bool, form: str) -> None:
    """Open a workspace on the head of a branch. It is said how it is named, and where its files go.

    \b
    Example:
      lochan workspace create demo@main
    """
    uri = branch_uri(branch)

    async def work(opened: OpenRef) -> dict[str, Any]:
        from lochan.versioning.workspaces.opening import open_workspace

        opened.needs_files()
        made = await open_workspace(opened.repository, opened.ref, note, actor=opened.actor)
        return workspace_record(made, opened.repository.folder(made.id).place())

    record = work_on(uri, work)
    if quiet:
        click.echo(record["id"])
    elif form == "json":
        show_record(record, form)
    else:
        click.echo(f"created workspace {record['id']}: {uri.repository}@{printable(record['ref'])}")
        click.echo(f"files go to {printable(record['path'])}")


@group.command("list")
@click.argument("branch", metavar="REPO[@BRANCH]")
@format_option
def list_command(branch: str, form: str) -> None:
    """List the open workspaces of a repository or a branch. The oldest comes first.

    \b
    Example:
      lochan workspace list demo
    """
    uri = branch_uri(branch)

    async def work(opened: OpenRef) -> list[dict[str, Any]]:
        from lochan.versioning.workspaces.opening import opened as open_ones

        return [
            workspace_record(each, opened.repository.folder(each.id).place())
            for each in await open_ones(opened.repository, uri.ref)
        ]

    records = work_on(uri, work)
    if form != "json":
        records = [{**each, "fork": each["fork"][:SHORT]} for each in records]
    show_records(records, form, columns=("id", "branch", "fork", "date", "user", "note"))


@group.command("show")
@click.argument("repository", metavar="REPO")
@click.argument("id", metavar="ID")
@format_option
def show_command(repository: str, id: str, form: str) -> None:
    """Show a workspace: its branch, the commit that it was opened on, what was added, where its files go.

    \b
    Example:
      lochan workspace show demo 17-9f3a6c21
    """
    uri, workspace = workspace_uri(repository, id)

    async def work(opened: OpenRef) -> dict[str, Any]:
        from dataclasses import asdict

        from lochan.versioning.differing import count_staged
        from lochan.versioning.workspaces.opening import find

        found = await find(opened.repository, workspace)
        record = workspace_record(found, opened.repository.folder(found.id).place())
        return {**record, "changes": asdict(await count_staged(opened.repository, found.ref))}

    record = work_on(uri, work)
    if form != "json":
        record = {**record, "fork": record["fork"][:SHORT], "added": " ".join(record["added"])}
    show_record(record, form)


@group.command("path")
@click.argument("where", metavar="REPO@BRANCH+ID[/PATH]")
@format_option
def path_command(where: str, form: str) -> None:
    """Print where the file or folder of that path is stored: a path of this machine, or a URL.

    Whoever can write there needs nothing else. Folders on a local disk are not made for you.

    \b
    Example:
      lochan workspace path demo@main+17-9f3a6c21/data/a.csv
    """
    uri = prefix_uri(where)
    if not uri.ref or not parse(uri.ref).workspace:
        raise Invalid(f"{where!r} names no workspace", hint="such as demo@main+17-9f3a6c21/data/a.csv")

    async def work(opened: OpenRef) -> str:
        found = (await opened.repository.resolve(opened.ref, workspaces=True)).workspace
        assert found is not None  # the ref says so
        return opened.repository.folder(found.id).place(uri.path)

    place = work_on(uri, work)
    if form == "json":
        show_record({"path": place}, form)
    else:
        click.echo(place)  # as it is: it is given to another program


@group.command("diff")
@click.argument("repository", metavar="REPO")
@click.argument("id", metavar="ID")
@click.option("--prefix", default="", metavar="PREFIX", help="Only paths that begin so.")
@click.option("--added", is_flag=True, help="Only what fits the patterns that were added.")
@format_option
def diff_command(repository: str, id: str, prefix: str, added: bool, form: str) -> None:
    """Show what a workspace changes: against the commit that it was opened on, and whether it was added.

    \b
    Example:
      lochan workspace diff demo 17-9f3a6c21
    """
    uri, workspace = workspace_uri(repository, id)

    async def work(opened: OpenRef) -> None:
        from lochan.cli.output.columns import show_columns, size_cells
        from lochan.versioning.workspaces.differing import diff_columns

        table = await diff_columns(opened.repository, workspace, prefix)
        table = (table.filter(table["selected"]) if added else table).rename_columns({"selected": "added"})
        cells = {"before": size_cells, "after": size_cells}
        show_columns(table, form, columns=("kind", "before", "after", "added", "path"), cells=cells)

    work_on(uri, work)


@group.command("add")
@click.argument("repository", metavar="REPO")
@click.argument("id", metavar="ID")
@click.argument("globs", nargs=-1, required=True, metavar="GLOB...")
@request_key
@format_option
def add_command(repository: str, id: str, globs: tuple[str, ...], form: str) -> None:
    """Say what is to be committed: whatever fits one of the globs, now or when it is written.

    In a glob, * and ? stay within a folder and ** goes across.

    \b
    Example:
      lochan workspace add demo 17-9f3a6c21 'data/*.csv'
    """
    uri, workspace = workspace_uri(repository, id)

    async def work(opened: OpenRef) -> list[str]:
        from lochan.versioning.workspaces.opening import find
        from lochan.versioning.workspaces.selection import add

        await add(opened.repository, workspace, globs, actor=opened.actor)
        return list((await find(opened.repository, workspace)).added)

    added = work_on(uri, work)
    if form == "json":
        show_record({"added": added}, form)
    else:
        click.echo(f"to be committed: {printable(' '.join(added))}")


@group.command("revert")
@click.argument("repository", metavar="REPO")
@click.argument("id", metavar="ID")
@click.argument("globs", nargs=-1, metavar="[GLOB]...")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@request_key
@format_option
def revert_command(repository: str, id: str, globs: tuple[str, ...], yes: bool, form: str) -> None:
    """Take back what fits one of the globs, or everything: files are hidden, deletions forgotten.

    On a terminal it asks first; in a script it wants --yes.

    \b
    Example:
      lochan workspace revert demo 17-9f3a6c21 'data/*.csv'
    """
    uri, workspace = workspace_uri(repository, id)
    if not yes:
        what = _globs_text(globs)
        confirm(f"Revert {what} in workspace {workspace}?", f"workspace {workspace} was not reverted")

    async def work(opened: OpenRef) -> int | None:
        from lochan.versioning.workspaces.selection import EVERYTHING, revert

        return await revert(opened.repository, workspace, globs or EVERYTHING, actor=opened.actor)

    count = work_on(uri, work)
    if form == "json":
        show_record({"reverted": count}, form)
    else:
        what = _globs_text(globs) if count is None else f"{count} path{'' if count == 1 else 's'}"
        click.echo(f"reverted {printable(what)}")


def _globs_text(globs: tuple[str, ...]) -> str:
    return " ".join(globs) if globs else "everything"


@group.command("commit")
@click.argument("repository", metavar="REPO")
@click.argument("id", metavar="ID")
@click.option("-m", "--message", required=True, help="What was done, and why.")
@click.option("--all", "everything", is_flag=True, help="Everything, and not only what was added.")
@click.option("--meta", "--metadata", "metadata", multiple=True, metavar="KEY=VALUE", help="A note; may be repeated.")
@request_key
@format_option
def commit_command(
    repository: str, id: str, message: str, everything: bool, metadata: tuple[str, ...], form: str
) -> None:
    """Commit what was added to a workspace. With --all, everything in it; it goes on top of the branch.

    Where the branch has changed the same paths since, nothing is moved, and each of them is listed. What is not
    committed goes with the workspace.

    \b
    Example:
      lochan workspace commit demo 17-9f3a6c21 --all -m 'new prices'
    """
    uri, workspace = workspace_uri(repository, id)
    said = notes(metadata)

    async def work(opened: OpenRef) -> dict[str, Any]:
        from lochan.cli.output.conflicts import listing_conflicts, listing_paths_in_the_way
        from lochan.versioning.commit import Wish
        from lochan.versioning.workspaces.committing import BothChanged, commit

        async with listing_conflicts(form, BothChanged):
            with listing_paths_in_the_way(form):
                made = await commit(
                    opened.repository,
                    workspace,
                    Wish(message, said),
                    actor=opened.actor,
                    everything=everything,
                )
        return commit_record(*made)

    made = work_on(uri, work)
    if form == "json":
        show_record(made, form)
    else:
        click.echo(f"committed {made['id'][:SHORT]}: {printable(title(message))}")


@group.command("drop")
@click.argument("repository", metavar="REPO")
@click.argument("id", metavar="ID")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@request_key
@format_option
def drop_command(repository: str, id: str, yes: bool, form: str) -> None:
    """Drop a workspace with all changes in it. Garbage collection removes its files.

    On a terminal it asks first; in a script it wants --yes.

    \b
    Example:
      lochan workspace drop demo 17-9f3a6c21
    """
    uri, workspace = workspace_uri(repository, id)
    if not yes:
        confirm(f"Drop workspace {workspace}, with all changes in it?", f"workspace {workspace} was not dropped")

    async def work(opened: OpenRef) -> None:
        from lochan.versioning.workspaces.opening import drop

        await drop(opened.repository, workspace, actor=opened.actor)

    work_on(uri, work)
    if form == "json":
        show_record({"id": workspace}, form)
    else:
        click.echo(f"dropped workspace {workspace}")


def workspace_record(workspace: "Workspace", place: str) -> dict[str, Any]:
    return {
        "id": workspace.id,
        "branch": workspace.branch,
        "ref": workspace.ref,
        "fork": workspace.fork,
        "user": workspace.user,
        "date": instant(workspace.time),
        "note": workspace.note,
        "added": list(workspace.added),
        "path": place,
    }


def workspace_uri(repository: str, id: str) -> tuple["Uri", str]:
    """The two words by which a workspace is named; the second may be written as in a ref, `main+17-9f3a6c21`."""
    text = id if "+" in id else f"any+{id}"
    try:
        return repository_uri(repository), parse(text).workspace
    except Invalid as error:
        if error.hint.startswith("a branch, a plus"):
            raise Invalid(
                f"{id!r} is no workspace's id",
                hint=f"`lochan workspace list {quote(repository)}` shows those there are",
            ) from None
        raise
