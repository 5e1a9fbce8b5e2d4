"""`lochan workspace`: a private layer over a branch, written to as plain files, committed once or dropped."""

from shlex import quote
from typing import Any

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.options import confirm, notes, yes_option
from lochan.cli.output.records import SHORT, all_records, printable, show_answer, show_record, show_records, title
from lochan.cli.target import Target, Uri, branch_uri, prefix_uri, repository_uri, work_on
from lochan.errors import Invalid


@click.group("workspace", cls=LazyGroup)
def group() -> None:
    """Private layers over a branch: written as plain files, committed once, or dropped."""


@group.verb("create", "lochan workspace create demo@main", changes=True)
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.option("--note", default="", help="A note about its purpose.")
@click.option("-q", "--quiet", is_flag=True, help="Print only its id.")
def create_command(branch: str, note: str, quiet: bool, form: str) -> None:
    """Open a workspace on the head of a branch. It prints the name of the workspace, and where its files go."""
    uri = branch_uri(branch)

    async def work(target: Target) -> dict[str, Any]:
        made = (await target.branch.workspace(note)).opened
        assert made is not None, "it was just opened"
        return made.as_json()

    record = work_on(uri, work)
    if quiet:
        click.echo(record["id"])
    elif form == "json":
        show_record(record, form)
    else:
        click.echo(f"created workspace {record['id']}: {uri.repository}@{printable(record['ref'])}")
        click.echo(f"files go to {printable(record['path'])}")


@group.verb("list", "lochan workspace list demo")
@click.argument("branch", metavar="REPO[@BRANCH]")
def list_command(branch: str, form: str) -> None:
    """List the open workspaces of a repository or a branch. The oldest comes first."""
    uri = branch_uri(branch)
    records = work_on(uri, lambda target: all_records(target.repository.workspaces(uri.ref)))
    if form != "json":
        records = [{**each, "fork": each["fork"][:SHORT]} for each in records]
    show_records(records, form, columns=("id", "branch", "fork", "date", "user", "note"))


@group.verb("show", "lochan workspace show demo 17-9f3a6c21")
@click.argument("repository", metavar="REPO")
@click.argument("id", metavar="ID")
def show_command(repository: str, id: str, form: str) -> None:
    """Show a workspace: its branch, the commit that it was opened on, what was added, where its files go."""
    uri, workspace = workspace_uri(repository, id)

    async def work(target: Target) -> dict[str, Any]:
        found = await target.repository.workspace(workspace).show()
        changes = await target.repository.workspace(found.ref).status_count()
        return {**found.as_json(), "changes": changes.as_json()}

    record = work_on(uri, work)
    if form != "json":
        record = {**record, "fork": record["fork"][:SHORT], "added": " ".join(record["added"])}
    show_record(record, form)


@group.verb("path", "lochan workspace path demo@main+17-9f3a6c21/data/a.csv")
@click.argument("where", metavar="REPO@BRANCH+ID[/PATH]")
def path_command(where: str, form: str) -> None:
    """Print where the file or folder at PATH is stored: a path on this machine, or a URL.

    Any program that can write there will do. Folders on a local disk are not created for you.
    """
    uri = prefix_uri(where)
    if "+" not in uri.ref:
        raise Invalid(f"{where!r} names no workspace", hint="such as demo@main+17-9f3a6c21/data/a.csv")

    place = work_on(uri, lambda target: target.repository.workspace(uri.ref).path(uri.path))
    if form == "json":
        show_record({"path": place}, form)
    else:
        click.echo(place)  # as it is, because it is given to another program


@group.verb("diff", "lochan workspace diff demo 17-9f3a6c21")
@click.argument("repository", metavar="REPO")
@click.argument("id", metavar="ID")
@click.option("--prefix", default="", metavar="PREFIX", help="Only paths that begin with PREFIX.")
@click.option("--added", is_flag=True, help="Only what matches the globs that were added.")
def diff_command(repository: str, id: str, prefix: str, added: bool, form: str) -> None:
    """Show what a workspace changes. It is compared with the commit that it was opened on, and shows what was added."""
    uri, workspace = workspace_uri(repository, id)

    async def work(target: Target) -> None:
        from lochan.cli.output.columns import show_columns, size_cells

        table = await target.repository.workspace(workspace).changes_table(prefix)
        table = table.filter(table["added"]) if added else table
        cells = {"before": size_cells, "after": size_cells}
        show_columns(table, form, columns=("kind", "before", "after", "added", "path"), cells=cells)

    work_on(uri, work)


@group.verb("add", "lochan workspace add demo 17-9f3a6c21 'data/*.csv'", changes=True)
@click.argument("repository", metavar="REPO")
@click.argument("id", metavar="ID")
@click.argument("globs", nargs=-1, required=True, metavar="GLOB...")
def add_command(repository: str, id: str, globs: tuple[str, ...], form: str) -> None:
    """Choose what will be committed: whatever matches one of the globs, now or when it is written.

    In a glob, * and ? stay within a folder and ** goes across folders.
    """
    uri, workspace = workspace_uri(repository, id)

    async def work(target: Target) -> list[str]:
        return list(await target.repository.workspace(workspace).add(*globs))

    added = work_on(uri, work)
    show_answer({"added": added}, form, f"to be committed: {printable(' '.join(added))}")


@group.verb("revert", "lochan workspace revert demo 17-9f3a6c21 'data/*.csv'", changes=True)
@click.argument("repository", metavar="REPO")
@click.argument("id", metavar="ID")
@click.argument("globs", nargs=-1, metavar="[GLOB]...")
@yes_option
def revert_command(repository: str, id: str, globs: tuple[str, ...], yes: bool, form: str) -> None:
    """Undo what matches one of the globs, or everything: files are hidden, and deletions forgotten.

    On a terminal it asks first; a script must give --yes.
    """
    uri, workspace = workspace_uri(repository, id)
    if not yes:
        what = _globs_text(globs)
        confirm(f"Revert {what} in workspace {workspace}?", f"workspace {workspace} was not reverted")

    count = work_on(uri, lambda target: target.repository.workspace(workspace).revert(*globs))
    if form == "json":
        show_record({"reverted": count}, form)
    else:
        what = _globs_text(globs) if count is None else f"{count} path{'' if count == 1 else 's'}"
        click.echo(f"reverted {printable(what)}")


def _globs_text(globs: tuple[str, ...]) -> str:
    return " ".join(globs) if globs else "everything"


@group.verb("commit", "lochan workspace commit demo 17-9f3a6c21 --all -m 'new prices'", changes=True)
@click.argument("repository", metavar="REPO")
@click.argument("id", metavar="ID")
@click.option("-m", "--message", required=True, help="The commit message.")
@click.option("--all", "everything", is_flag=True, help="Commit everything, and not only what was added.")
@click.option(
    "--meta",
    "--metadata",
    "metadata",
    multiple=True,
    metavar="KEY=VALUE",
    help="Metadata of the commit; may be repeated.",
)
def commit_command(
    repository: str, id: str, message: str, everything: bool, metadata: tuple[str, ...], form: str
) -> None:
    """Commit what was added to a workspace. With --all, commit everything in it. The commit goes on top of the branch.

    If the branch has changed the same paths since, they are listed and nothing is committed. What is not committed is
    dropped with the workspace.
    """
    uri, workspace = workspace_uri(repository, id)
    pairs = notes(metadata)

    async def work(target: Target) -> dict[str, Any]:
        from lochan.api.options import CommitOptions
        from lochan.cli.output.objects import listing_conflicts

        async with listing_conflicts(form):
            options = CommitOptions(message=message, metadata=pairs)
            made = await target.repository.workspace(workspace).commit(options=options, added=not everything)
        return made.as_json()

    made = work_on(uri, work)
    show_answer(made, form, f"committed {made['id'][:SHORT]}: {printable(title(message))}")


@group.verb("drop", "lochan workspace drop demo 17-9f3a6c21", changes=True)
@click.argument("repository", metavar="REPO")
@click.argument("id", metavar="ID")
@yes_option
def drop_command(repository: str, id: str, yes: bool, form: str) -> None:
    """Drop a workspace with all changes in it. Garbage collection removes its files.

    On a terminal it asks first; a script must give --yes.
    """
    uri, workspace = workspace_uri(repository, id)
    if not yes:
        confirm(f"Drop workspace {workspace}, with all changes in it?", f"workspace {workspace} was not dropped")

    work_on(uri, lambda target: target.repository.workspace(workspace).drop())
    show_answer({"id": workspace}, form, f"dropped workspace {workspace}")


def workspace_uri(repository: str, id: str) -> tuple[Uri, str]:
    """Parses the two words that name a workspace. The second may be written as in a ref, `main+17-9f3a6c21`."""
    from lochan.api.workspace import workspace_id

    try:
        return repository_uri(repository), workspace_id(id if "+" in id else f"any+{id}")
    except Invalid as error:
        if error.hint.startswith("a branch, a plus"):
            raise Invalid(
                f"{id!r} is not the id of a workspace", hint=f"`lochan workspace list {quote(repository)}` lists them"
            ) from None
        raise
