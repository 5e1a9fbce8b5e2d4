"""Defines `lochan show`, `blame` and `merge-base`, which show single commits of a history."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.output.objects import CELLS, COLUMNS, POOL_CELLS, POOL_COLUMNS
from lochan.cli.output.record_stream import closing
from lochan.cli.output.records import SHORT, printable, show_record, show_records, title
from lochan.cli.session import is_warm
from lochan.cli.target import Target, optional_uri, prefix_uri, ref_uri, work_on
from lochan.cli.verb import verb
from lochan.errors import Invalid, NotFound

if TYPE_CHECKING:
    from lochan.api.results import Commit


@verb("show", "lochan show demo@main")
@click.argument("ref", metavar="[REPO[@REF]]", required=False)
def show_command(ref: str | None, form: str) -> None:
    """Show a commit and its differences from its first parent; for a pool, the data objects that were added and
    removed.
    """

    async def work(target: Target) -> None:
        found = await target.ref.resolve()
        is_pool = await target.is_pool()
        differences = _differences(target, found, is_pool)
        if form == "json":
            show_record({**found.as_json(), "differences": [each async for each in differences]}, form)
            return
        from lochan.cli.output.record_stream import show_stream

        _print({**found.as_json(), "parents": " ".join(found.parents)})
        columns, cells = (POOL_COLUMNS, POOL_CELLS) if is_pool else (COLUMNS, CELLS)
        await show_stream(differences, form, columns=columns, cells=cells)

    work_on(optional_uri(ref_uri, ref), work, reads=is_warm())


def _print(record: dict[str, Any]) -> None:
    message = record.pop("message")
    show_record(record, "table")
    click.echo()
    for line in message.splitlines():
        click.echo(f"    {printable(line)}")
    click.echo()


async def _differences(target: Target, commit: "Commit", is_pool: bool) -> AsyncIterator[dict[str, Any]]:
    if not commit.parents:
        return  # a first commit has nothing to compare with
    before = target.repository.ref(commit.parents[0])
    if is_pool:
        async with closing(before.diff_objects(commit.id)) as records:
            async for record in records:
                yield record
        return
    async with closing(before.diff(commit.id)) as changes:
        async for change in changes:
            yield change.as_json()


@verb("blame", "lochan blame demo@main/data/a.csv")
@click.argument("uri", metavar="REPO[@REF]/PATH")
def blame_command(uri: str, form: str) -> None:
    """Show which commit last changed an object. If the path ends with a slash, show it for each object in that
    folder."""
    found = prefix_uri(uri)

    async def work(target: Target) -> None:
        from lochan.cli.output.record_stream import show_stream

        await show_stream(
            _blame_records(target, found.path),
            form,
            columns=("commit", "date", "author", "path", "message"),
            cells={"commit": lambda id: id[:SHORT], "message": lambda message: printable(title(message))},
        )

    work_on(found, work)


async def _blame_records(target: Target, path: str) -> AsyncIterator[dict[str, Any]]:
    if path and not path.endswith("/"):
        yield _blame_record(path, await target.ref.blame(path))
        return
    async with closing(target.ref.blame_folder(path)) as found:
        async for each in found:
            yield _blame_record(each.path, each.commit)


def _blame_record(path: str, commit: "Commit") -> dict[str, Any]:
    found = commit.as_json()
    return {"path": path, "commit": commit.id, **{name: found[name] for name in ("date", "author", "message")}}


@verb("merge-base", "lochan merge-base demo@main demo@dev")
@click.argument("left", metavar="REPO[@LEFT]")
@click.argument("right", metavar="REPO[@RIGHT]")
@click.option("--all", "every", is_flag=True, help="Show all of them, if there are several.")
def merge_base_command(left: str, right: str, every: bool, form: str) -> None:
    """Show the best common ancestor of two refs. A merge compares both of them with it."""
    one, other = ref_uri(left), ref_uri(right)
    if one.repository != other.repository:
        raise Invalid(f"{one} and {other} are in different repositories", hint="compare refs of one repository")

    async def work(target: Target) -> None:
        found = await target.repository.merge_bases(one.ref, other.ref)
        if not found:
            raise NotFound(f"{one} and {other} have no history in common")
        records = [each.as_json() for each in found[: None if every else 1]]
        if form != "json":
            records = [
                {**each, "id": each["id"][:SHORT], "message": printable(title(each["message"]))} for each in records
            ]
        show_records(records, form, columns=("id", "date", "author", "message"))

    work_on(one, work, reads=is_warm())
