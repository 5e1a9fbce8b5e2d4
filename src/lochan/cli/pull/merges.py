"""`lochan pr diff`, `resolve` and `merge`: the changes of a request, and its end."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.output.records import SHORT, count_noun, printable, show_answer
from lochan.cli.target import Target, repository_uri, work_on
from lochan.cli.verb import verb
from lochan.errors import Invalid, from_os_error

if TYPE_CHECKING:
    from lochan.api.pull_results import Resolution

_VERSIONS = ("ours", "theirs", "base")
_COLUMNS = ("path", "base", "ours", "theirs")


@verb("diff", "lochan pr diff demo 12")
@click.argument("repository", metavar="REPO")
@click.argument("pull", metavar="ID")
@click.option("--prefix", default="", help="Only paths that begin so.")
def diff_command(repository: str, pull: str, prefix: str, form: str) -> None:
    """Show what a pull request changes. It is compared with the commit where its branches parted."""

    async def work(target: Target) -> None:
        from lochan.cli.output.objects import CELLS, COLUMNS
        from lochan.cli.output.record_stream import as_records, show_stream

        changes = target.repository.pull(pull).diff(prefix)
        await show_stream(as_records(changes), form, columns=COLUMNS, cells=CELLS)

    work_on(repository_uri(repository), work, reads=True)


@verb(
    "resolve",
    "lochan pr resolve demo 12",
    "lochan pr resolve demo 12 --take raw/fruit.csv=theirs --file README.md=merged.md",
    changes=True,
)
@click.argument("repository", metavar="REPO")
@click.argument("pull", metavar="ID")
@click.option("--take", "takes", multiple=True, metavar="PATH=VERSION", help="ours, theirs or base; may be repeated.")
@click.option("--file", "files", multiple=True, metavar="PATH=FILE", help="The bytes of this file; may be repeated.")
@click.option("-m", "--message", default="", help="The message of the commit. Default: one that says what it does.")
def resolve_command(
    repository: str, pull: str, takes: tuple[str, ...], files: tuple[str, ...], message: str, form: str
) -> None:
    """List the conflicts of a pull request, or resolve all of them.

    The versions of a path are ours (the target's), theirs (the source's) and base (as it was before both). What is
    chosen becomes a commit on the source: the target is merged into it.
    """
    choices = [*map(_parse_resolution, takes), *map(_read_resolution, files)]

    async def work(target: Target) -> str | None:
        found = target.repository.pull(pull)
        if not choices:
            from lochan.cli.output.objects import conflict_cell
            from lochan.cli.output.record_stream import as_records, show_stream

            cells = dict.fromkeys(_COLUMNS[1:], conflict_cell)
            await show_stream(as_records(found.conflicts()), form, columns=_COLUMNS, cells=cells)
            return None
        from lochan.api.options import CommitOptions
        from lochan.cli.output.objects import listing_conflicts

        async with listing_conflicts(form):
            return (await found.resolve(choices, CommitOptions(message=message))).id

    head = work_on(repository_uri(repository), work)
    if head is not None:
        text = f"resolved {count_noun(len(choices), 'conflict')} of pull request {printable(pull)}: {head[:SHORT]}"
        show_answer({"head": head}, form, text)


def _parse_resolution(text: str) -> "Resolution":
    from lochan.api.pull_results import Resolution

    path, _, version = text.rpartition("=")
    if not path or version not in _VERSIONS:
        raise Invalid(f"--take {text!r}: it must be a path and a version", hint=f"such as a.csv={_VERSIONS[0]}")
    return Resolution(path=path, take=version)


def _read_resolution(text: str) -> "Resolution":
    from lochan.api.pull_results import Resolution

    path, _, name = text.partition("=")
    if not path or not name:
        raise Invalid(f"--file {text!r}: it must be a path and a file", hint="such as a.csv=merged.csv")
    try:
        content = Path(name).read_bytes()
    except OSError as error:
        raise from_os_error(error) from None
    return Resolution(path=path, take="bytes", content=content)


@verb("merge", "lochan pr merge demo 12", "lochan pr merge demo 12 --squash -m 'Pears'", changes=True)
@click.argument("repository", metavar="REPO")
@click.argument("pull", metavar="ID")
@click.option("--squash", is_flag=True, help="Make a commit that does not have the source as a parent.")
@click.option("--fast", is_flag=True, help="Make no commit: the target goes on to the source's own ones.")
@click.option("-m", "--message", default="", help="The message of the merge commit. Default: the request's title.")
@click.option("--leave-staged", is_flag=True, help="Ignore what is staged on the source. Default: refuse to merge.")
def merge_command(
    repository: str, pull: str, squash: bool, fast: bool, message: str, leave_staged: bool, form: str
) -> None:
    """Merge a pull request into its target.

    While a rule of the target is not met, it is refused with every reason (exit code 5). If both branches have changed
    the same path, the conflicts are listed (exit code 4).
    """
    if squash and fast:
        raise click.UsageError("--squash and --fast exclude each other.")
    way = "squash" if squash else "fast" if fast else "merge"

    async def work(target: Target) -> dict[str, Any]:
        from lochan.api.options import CommitOptions
        from lochan.cli.output.objects import listing_conflicts

        async with listing_conflicts(form):
            options = CommitOptions(message=message)
            made = await target.repository.pull(pull).merge(options, way=way, leave_staged=leave_staged)
        return {"head": made.id}

    made = work_on(repository_uri(repository), work)
    show_answer(made, form, f"merged pull request {printable(pull)}: {made['head'][:SHORT]}")
