"""`lochan show`, `blame` and `merge-base`: single commits of a history."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.open_ref import OpenRef, work_on
from lochan.cli.output import objects as pool_difference
from lochan.cli.output.commits import SHORT, commit_record, title
from lochan.cli.output.objects import CELLS, COLUMNS, difference_record
from lochan.cli.output.records import format_option, instant, printable, show_record, show_records
from lochan.cli.uri import optional_uri, prefix_uri, ref_uri
from lochan.errors import Invalid, NotFound

if TYPE_CHECKING:
    from lochan.versioning.blame import Blamed


@click.command("show")
@click.argument("ref", metavar="[REPO[@REF]]", required=False)
@format_option
def show_command(ref: str | None, form: str) -> None:
    """Show a commit and its differences from its first parent; of a pool, the data objects that came and went.

    \b
    Example:
      lochan show demo@main
    """

    async def work(opened: OpenRef) -> None:
        found = await opened.repository.resolve(opened.ref)
        record = commit_record(found.commit_id, found.commit)
        differences = _differences(opened, found.commit_id, found.commit.parents)
        columns, cells = (COLUMNS, CELLS) if not opened.is_pool else (pool_difference.COLUMNS, pool_difference.CELLS)
        if form == "json":
            show_record({**record, "differences": [each async for each in differences]}, form)
            return
        from lochan.cli.output.record_stream import show_stream

        _print({**record, "parents": " ".join(found.commit.parents)})
        await show_stream(differences, form, columns=columns, cells=cells)

    work_on(optional_uri(ref_uri, ref), work)


def _print(record: dict[str, Any]) -> None:
    message = record.pop("message")
    show_record(record, "table")
    click.echo()
    for line in message.splitlines():
        click.echo(f"    {printable(line)}")
    click.echo()


async def _differences(opened: OpenRef, id: str, parents: tuple[str, ...]) -> AsyncIterator[dict[str, Any]]:
    from lochan.versioning.differing import diff

    if not parents:
        return  # a first commit holds nothing
    differences = diff(opened.repository, parents[0], id)
    if opened.is_pool:
        async for record in pool_difference.object_records(differences, opened.pool):
            yield record
        return
    async for difference in differences:
        yield difference_record(difference)


_PAGE = 100_000  # each is a walk through history


@click.command("blame")
@click.argument("uri", metavar="REPO[@REF]/PATH")
@format_option
def blame_command(uri: str, form: str) -> None:
    """Show which commit last changed an object; with a path that ends with a slash, of each object below it.

    \b
    Example:
      lochan blame demo@main/data/a.csv
    """
    found = prefix_uri(uri)

    async def work(opened: OpenRef) -> None:
        from lochan.cli.output.record_stream import show_stream

        await show_stream(
            _blame_records(opened, found.path),
            form,
            columns=("commit", "date", "author", "path", "message"),
            cells={"commit": lambda id: id[:SHORT], "message": lambda message: printable(title(message))},
        )

    work_on(found, work)


async def _blame_records(opened: OpenRef, path: str) -> AsyncIterator[dict[str, Any]]:
    from lochan.versioning.blame import blame, blame_under

    if path and not path.endswith("/"):
        yield _blame_record(await blame(opened.repository, opened.ref, path))
        return
    moment = (await opened.repository.resolve(opened.ref)).commit_id  # one for all pages
    after: str | None = ""
    while after is not None:
        page = await blame_under(opened.repository, moment, path, after, _PAGE)
        for each in page.entries:
            yield _blame_record(each)
        after = page.next


def _blame_record(blamed: "Blamed") -> dict[str, Any]:
    commit = blamed.commit
    return {
        "path": blamed.path,
        "commit": blamed.commit_id,
        "date": instant(commit.date),
        "author": commit.author,
        "message": commit.message,
    }


@click.command("merge-base")
@click.argument("left", metavar="REPO[@LEFT]")
@click.argument("right", metavar="REPO[@RIGHT]")
@click.option("--all", "every", is_flag=True, help="All of them, where the two have merged each other.")
@format_option
def merge_base_command(left: str, right: str, every: bool, form: str) -> None:
    """Show the best common ancestor of two refs: what a merge of them compares both with.

    \b
    Example:
      lochan merge-base demo@main demo@dev
    """
    one, other = ref_uri(left), ref_uri(right)
    if one.repository != other.repository:
        raise Invalid(f"{one} and {other} are in different repositories", hint="compare refs of one repository")

    async def work(opened: OpenRef) -> None:
        from lochan.versioning.graph import merge_bases

        refs, _ = await opened.repository.refs()
        ids = [(await opened.repository.resolve(opened.ref_of(uri))).commit_id for uri in (one, other)]
        found = merge_bases(refs.commit, *ids)
        if not found:
            raise NotFound(f"{one} and {other} have no history in common")
        records = [commit_record(id, refs.commit(id)) for id in found[: None if every else 1]]
        if form != "json":
            records = [
                {**each, "id": each["id"][:SHORT], "message": printable(title(each["message"]))} for each in records
            ]
        show_records(records, form, columns=("id", "date", "author", "message"))

    work_on(one, work)
