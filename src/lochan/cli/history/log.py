"""Defines `lochan log`, which shows the history of a ref."""

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict

import click

from lochan.cli.options import time
from lochan.cli.output.record_stream import closing
from lochan.cli.output.records import SHORT, printable, title
from lochan.cli.session import is_warm
from lochan.cli.target import Target, optional_uri, ref_uri, work_on
from lochan.cli.verb import verb

if TYPE_CHECKING:
    from lochan.api.ref import Ref
    from lochan.api.results import Commit


@verb("log", "lochan log demo@main -n 5 --graph")
@click.argument("ref", metavar="[REPO[@REF]]", required=False)
@click.option("-n", "--limit", type=click.IntRange(min=1), default=None, metavar="N", help="At most N commits.")
@click.option("--path", "paths", multiple=True, metavar="PATH", help="Only commits that changed PATH; may be repeated.")
@click.option(
    "--prefix",
    "prefixes",
    multiple=True,
    metavar="PREFIX",
    help="Only commits that changed paths that begin with PREFIX.",
)
@click.option("--since", metavar="TIME", help="Only commits at TIME or later, such as 2026-11-01 or '5 minutes ago'.")
@click.option("--until", metavar="TIME", help="Only commits at TIME or earlier.")
@click.option(
    "--author", default="", metavar="TEXT", help="Only commits whose author or committer has TEXT in the name."
)
@click.option("--grep", default="", metavar="TEXT", help="Only commits whose message contains TEXT.")
@click.option("--oneline", is_flag=True, help="Only the id and the title of each.")
@click.option("--first-parent", is_flag=True, help="Follow only the first parent of a merge.")
@click.option("--graph", is_flag=True, help="Draw the graph of the commits beside them.")
def log_command(
    ref: str | None,
    limit: int | None,
    paths: tuple[str, ...],
    prefixes: tuple[str, ...],
    since: str | None,
    until: str | None,
    author: str,
    grep: str,
    oneline: bool,
    first_parent: bool,
    graph: bool,
    form: str,
) -> None:
    """Show the history of a ref, the newest commit first."""
    uri = optional_uri(ref_uri, ref)
    if graph and form == "json":
        raise click.UsageError("--graph does not go with JSON, where each commit names its parents.")

    which: LogOptions = {
        "path": paths,
        "prefix": prefixes,
        "since": time("--since", since),
        "until": time("--until", until),
        "author": author,
        "grep": grep,
        "first_parent": first_parent,
    }

    async def work(target: Target) -> None:
        from lochan.cli.output.record_stream import show_lines

        if graph:
            await _draw(target.ref, which, limit, _short_text if oneline else _text)
            return
        if oneline and form != "json":
            async with closing(_records(target.ref, which, limit)) as records:
                async for record in records:
                    click.echo(f"{record['id'][:SHORT]} {printable(title(record['message']))}".rstrip())
            return
        await show_lines(
            _records(target.ref, which, limit, for_people=form != "json"),
            form,
            columns=("id", "date", "author", "message"),
            cells={"id": lambda id: id[:SHORT], "message": printable},
        )

    work_on(uri, work, reads=is_warm())


class LogOptions(TypedDict):
    path: tuple[str, ...]
    prefix: tuple[str, ...]
    since: datetime | None
    until: datetime | None
    author: str
    grep: str
    first_parent: bool


async def _records(
    ref: "Ref", which: LogOptions, limit: int | None, *, for_people: bool = False
) -> AsyncIterator[dict[str, Any]]:
    """Yields the records of commits. With `for_people`, the message is only the title, followed by the committer if
    that is not the author."""
    count = 0
    async with closing(ref.log(**which)) as found:
        async for commit in found:
            record = commit.as_json()
            yield {**record, "message": _title(commit)} if for_people else record
            count += 1
            if count == limit:
                return


async def _draw(ref: "Ref", which: LogOptions, limit: int | None, text: Callable[["Commit"], str]) -> None:
    from lochan.notebook.commit_graph import CommitGraph

    drawing, count = CommitGraph(), 0
    async with closing(ref.log_graph(**which)) as found:
        async for entry in found:
            commit = entry.commit
            parents = commit.parents[:1] if which["first_parent"] else commit.parents
            if not entry.matches:
                _echo(*drawing.skip(commit.id, parents))
                continue
            line, rest = drawing.commit(commit.id, parents)
            _echo(f"{line}{text(commit)}")
            count += 1
            if count == limit:
                return
            _echo(*rest)


def _text(commit: "Commit") -> str:
    date = commit.as_json()["date"]
    return f"{commit.id[:SHORT]}  {date}  {printable(commit.author)}  {printable(_title(commit))}"


def _short_text(commit: "Commit") -> str:
    return f"{commit.id[:SHORT]} {printable(title(commit.message))}"


def _title(commit: "Commit") -> str:
    """Returns the title, with the committer at the end of the line, where it shifts no column. The author is only a
    claim."""
    same = commit.author == commit.committer
    return title(commit.message) + ("" if same else f"  (committed by {commit.committer})")


def _echo(*lines: str) -> None:
    for line in lines:
        click.echo(line.rstrip())
