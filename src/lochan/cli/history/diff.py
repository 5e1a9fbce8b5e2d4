"""Defines `lochan diff`, which shows the differences between two refs, or the staged changes of a branch."""

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.options import JobOptions, job_options
from lochan.cli.output.objects import CELLS, COLUMNS, POOL_CELLS, POOL_COLUMNS, totals
from lochan.cli.output.records import echo_table, printable, show_record, size_cell
from lochan.cli.session import is_remote, is_warm
from lochan.cli.target import Target, Uri, prefix_uri, ref_uri, staged_uri, work_on
from lochan.cli.verb import verb
from lochan.errors import Invalid
from lochan.without_pandas import without_pandas

if TYPE_CHECKING:
    from lochan.api.object_results import ChangeCount
    from lochan.api.queries import RowChange, RowDiff


Records = AsyncIterator[dict[str, Any]]


@verb("diff", "lochan diff demo@main demo@dev")
@click.argument("left", metavar="REPO[@LEFT][/PATH]")
@click.argument("right", metavar="[REPO@RIGHT]", required=False)
@click.option("--three-dot", is_flag=True, help="Only what the right ref has changed since the common ancestor.")
@click.option("--prefix", default="", metavar="PREFIX", help="Only paths that begin with PREFIX.")
@click.option("--summary", "--stat", "summary", is_flag=True, help="Only the number of changes and their bytes.")
@click.option("--roll-up", is_flag=True, help="The same for each folder under the prefix.")
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=None,
    metavar="N",
    help="With --roll-up: how many folders deep. Default: 1.",
)
@click.option("--delimiter", default=None, metavar="TEXT", help="With --roll-up: what separates folders. Default: /.")
@click.option("--rows", is_flag=True, help="Show the rows that differ: of a pool, or of the files at REPO@LEFT/PATH.")
@click.option(
    "--key",
    "keys",
    multiple=True,
    metavar="FIELD,…",
    help="With --rows: the fields that identify a row. Default: the pool's primary key.",
)
@click.option("--no-key", is_flag=True, help="With --rows: compare whole rows, whatever the pool's primary key.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="With --rows: how many to show. Default: 20.")
@job_options
def diff_command(
    left: str,
    right: str | None,
    three_dot: bool,
    prefix: str,
    summary: bool,
    roll_up: bool,
    depth: int | None,
    delimiter: str | None,
    rows: bool,
    keys: tuple[str, ...],
    no_key: bool,
    limit: int | None,
    form: str,
    **options: str | None,
) -> None:
    """Show what differs between two refs; given one branch, show what is staged on it. Refs are compared as committed.

    For a pool, it shows the data objects that only one side holds, with their rows, bytes and keys. With --rows it
    reads only these objects, and shows the rows that differ.
    """
    job = JobOptions(**options)  # type: ignore[arg-type]
    if rows:
        if right is None or prefix or summary or roll_up or depth or delimiter:
            raise click.UsageError("--rows needs two refs, and goes with none of the options that count paths.")
        _diff_rows(left, right, _wanted_key(keys, no_key), three_dot, limit, job, form)
        return
    if keys or no_key or limit is not None or job != JobOptions():
        raise click.UsageError("--key, --no-key, --limit, --engine, --master and --memory go with --rows.")
    without_pandas()
    if right is None and three_dot:
        raise click.UsageError("--three-dot needs two refs.")
    if delimiter == "":
        raise click.UsageError("--delimiter must not be empty.")
    one = staged_uri(left) if right is None else ref_uri(left)
    other = None if right is None else _same_repository(one, ref_uri(right))
    rolled = roll_up or depth is not None or delimiter is not None

    async def work(target: Target) -> None:
        if await target.is_pool():
            await _show_objects(target, other, three_dot, summary, form)
            return
        if summary and not rolled:
            show_record((await _count(target, other, prefix, three_dot)).as_json(), form)
            return
        from lochan.cli.output.record_stream import as_records, show_stream

        if rolled:
            records = _folder_counts(target, other, prefix, three_dot, delimiter or "/", depth or 1)
            await show_stream(records, form, columns=_ROLLED, cells=_ROLLED_CELLS)
        elif other is None:
            await _show_staged(target, prefix, form)
        elif form == "table" and not is_remote():
            from lochan.cli.output.columns import show_tables, size_cells

            tables = target.ref.diff_tables(other.ref, prefix=prefix, three_dot=three_dot)
            await show_tables(tables, columns=COLUMNS, cells={"left": size_cells, "right": size_cells})
        else:
            changes = target.ref.diff(other.ref, prefix=prefix, three_dot=three_dot)
            await show_stream(as_records(changes), form, columns=COLUMNS, cells=CELLS)

    work_on(one, work, reads=is_warm())


def _diff_rows(
    left: str, right: str, key: list[str] | None, three_dot: bool, limit: int | None, job: JobOptions, form: str
) -> None:
    from lochan.cli.output.progress import StageBar

    options = job.parsed()
    sample = {} if limit is None else {"sample": limit}

    async def work(target: Target) -> None:
        rows = target.lake.diff_rows
        found = await rows(left, right, options, on=key, three_dot=three_dot, progress=bar.show, **sample)
        with found:
            bar.end()
            _show_rows(found, form)

    with StageBar("diff") as bar:
        work_on(prefix_uri(left), work)


def _wanted_key(keys: tuple[str, ...], no_key: bool) -> list[str] | None:
    """Returns the given key, or None for the pool's own key, if it has one."""
    if keys and no_key:
        raise click.UsageError("--key and --no-key exclude each other.")
    return [] if no_key else list(keys) or None


async def _show_objects(target: Target, other: Uri | None, three_dot: bool, summary: bool, form: str) -> None:
    """Shows the differences of a pool: its data objects, which are not in folders."""
    from lochan.cli.output.record_stream import show_stream

    if other is None:
        raise Invalid("nothing is ever staged on a pool", hint="compare two refs, such as logs@main logs@dev")
    records = target.ref.diff_objects(other.ref, three_dot=three_dot)
    if summary:
        show_record(await totals(records), form)
    else:
        await show_stream(records, form, columns=POOL_COLUMNS, cells=POOL_CELLS)


def _same_repository(one: Uri, other: Uri) -> Uri:
    if one.repository != other.repository:
        raise Invalid(f"{one} and {other} are in different repositories", hint="compare refs of one repository")
    return other


async def _show_staged(target: Target, prefix: str, form: str) -> None:
    from lochan.cli.output.columns import show_columns, size_cells

    staged = await target.writable.status_table(prefix)
    show_columns(staged, form, columns=("kind", "size", "path"), cells={"size": size_cells})


async def _count(target: Target, other: Uri | None, prefix: str, three_dot: bool) -> "ChangeCount":
    if other is None:
        return await target.writable.status_count(prefix)
    return await target.ref.diff_count(other.ref, prefix=prefix, three_dot=three_dot)


async def _folder_counts(
    target: Target, other: Uri | None, prefix: str, three_dot: bool, delimiter: str, depth: int
) -> Records:
    if other is None:
        counts = await target.writable.status_folders(prefix, delimiter=delimiter, depth=depth)
    else:
        counts = await target.ref.diff_folders(
            other.ref, prefix=prefix, three_dot=three_dot, delimiter=delimiter, depth=depth
        )
    for path, each in counts.items():
        yield {"path": path, **each.as_json()}


_ROLLED = ("added", "removed", "changed", "bytes_added", "bytes_removed", "path")
_ROLLED_CELLS = {"bytes_added": size_cell, "bytes_removed": size_cell}


def _show_rows(found: "RowDiff", form: str) -> None:
    if form == "json":
        show_record(found.record(), form)
        return
    changed = f", {found.changed:,} changed" if found.sides.keys else ""
    click.echo(f"{found.added:,} added, {found.removed:,} removed{changed}")
    lines = [line for each in found.sample for line in _row_lines(each)]
    if lines:
        echo_table(["", "", ""], [[printable(cell) for cell in line] for line in lines], begun=True)
    shown = sum(each.times for each in found.sample)
    rest = found.added + found.removed + found.changed - shown
    if rest and found.sample:
        click.echo(f"… and {rest:,} more")


def _row_lines(each: "RowChange") -> Iterator[tuple[str, str, str]]:
    """Yields the lines of a row. A changed row has two, one under the other."""
    times = f"{each.times}×" if each.times > 1 else ""
    if each.before is not None:
        yield each.change if each.after is None else "changed", times, f"- {each.before}"
    if each.after is not None:
        yield each.change if each.before is None else "", times, f"+ {each.after}"
