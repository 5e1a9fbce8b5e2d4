"""`lochan log`: the history of a ref."""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.open_ref import OpenRef, work_on
from lochan.cli.options.values import microseconds
from lochan.cli.output.commits import SHORT, commit_record, title
from lochan.cli.output.records import format_option, instant, printable
from lochan.cli.uri import optional_uri, ref_uri

if TYPE_CHECKING:
    from lochan.formats.commit import Commit
    from lochan.versioning.history import LogWish


@click.command("log")
@click.argument("ref", metavar="[REPO[@REF]]", required=False)
@click.option("-n", "--limit", type=click.IntRange(min=1), default=None, metavar="N", help="At most N commits.")
@click.option("--path", "paths", multiple=True, metavar="PATH", help="Only commits that changed it; may be repeated.")
@click.option("--prefix", "prefixes", multiple=True, metavar="PREFIX", help="Only commits that changed what begins so.")
@click.option("--since", metavar="TIME", help="Only commits of that time or later: 2026-11-01, 5 minutes ago.")
@click.option("--until", metavar="TIME", help="Only commits of that time or earlier.")
@click.option("--author", default="", metavar="TEXT", help="Only commits by somebody with TEXT in the name.")
@click.option("--grep", default="", metavar="TEXT", help="Only commits with TEXT in the message.")
@click.option("--oneline", is_flag=True, help="Only the id and the title of each.")
@click.option("--first-parent", is_flag=True, help="Leave out what came in by merges.")
@click.option("--graph", is_flag=True, help="Draw beside them how they come from each other.")
@format_option
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
    """Show the commits that a ref is made of, youngest first.

    \b
    Example:
      lochan log demo@main -n 5 --graph
    """
    uri = optional_uri(ref_uri, ref)
    times = microseconds("--since", since), microseconds("--until", until)
    if graph and form == "json":
        raise click.UsageError("--graph is a drawing; in JSON each commit names its parents.")

    async def work(opened: OpenRef) -> None:
        from lochan.cli.output.record_stream import show_lines
        from lochan.versioning.history import LogWish

        wish = LogWish(paths, prefixes, *times, first_parent, by_line=graph, author=author, grep=grep)
        if graph:
            await _draw(opened, wish, limit, _short if oneline else _text)
            return
        if oneline and form != "json":
            async for record in _records(opened, wish, limit, both=False):
                click.echo(f"{record['id'][:SHORT]} {printable(title(record['message']))}".rstrip())
            return
        await show_lines(
            _records(opened, wish, limit, both=form != "json"),
            form,
            columns=("id", "date", "author", "message"),
            cells={"id": lambda id: id[:SHORT], "message": lambda message: printable(title(message))},
        )

    work_on(uri, work)


async def _records(opened: OpenRef, wish: "LogWish", limit: int | None, *, both: bool) -> AsyncIterator[dict[str, Any]]:
    """`both`: where the committer is another than the author, the author's column names both."""
    from lochan.versioning.history import history

    count = 0
    async with aclosing(history(opened.repository, opened.ref, wish)) as found:
        async for id, commit in found:
            record = commit_record(id, commit)
            yield {**record, "author": _who(commit)} if both else record
            count += 1
            if count == limit:
                return


async def _draw(opened: OpenRef, wish: "LogWish", limit: int | None, text: Callable[[str, "Commit"], str]) -> None:
    from lochan.cli.output.commit_graph import CommitGraph
    from lochan.versioning.history import walked

    drawing, count = CommitGraph(), 0
    async with aclosing(walked(opened.repository, opened.ref, wish)) as found:
        async for id, commit, wished in found:
            parents = commit.parents[:1] if wish.first_parent else commit.parents
            if not wished:
                _echo(*drawing.skip(id, parents))
                continue
            line, rest = drawing.commit(id, parents)
            _echo(f"{line}{text(id, commit)}")
            count += 1
            if count == limit:
                return
            _echo(*rest)


def _text(id: str, commit: "Commit") -> str:
    return f"{id[:SHORT]}  {instant(commit.date)}  {printable(_who(commit))}  {printable(title(commit.message))}"


def _short(id: str, commit: "Commit") -> str:
    return f"{id[:SHORT]} {printable(title(commit.message))}"


def _who(commit: "Commit") -> str:
    """An author may be claimed; the committer is who it is."""
    if commit.author == commit.committer:
        return commit.author
    return f"{commit.author} (committed by {commit.committer})"


def _echo(*lines: str) -> None:
    for line in lines:
        click.echo(line.rstrip())
