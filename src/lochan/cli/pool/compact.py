"""`lochan compact`: puts a pool's objects in good order again."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.options import JobOptions, commit_message, commit_options, job_options, time
from lochan.cli.output.records import SHORT, count_noun, show_record, size
from lochan.cli.target import Target, branch_uri, work_on
from lochan.cli.verb import verb
from lochan.without_pandas import without_pandas

if TYPE_CHECKING:
    from lochan.api.results import PoolInfo
    from lochan.api.upkeep import Key


@verb("compact", "lochan compact logs", changes=True)
@click.argument("branch", metavar="POOL[@BRANCH]")
@click.argument("ids", nargs=-1, metavar="[ID...]")
@click.option("--from", "low", metavar="KEY", help="Only objects with keys from this one on.")
@click.option("--to", "high", metavar="KEY", help="Only objects with keys up to this one.")
@click.option("--up-to", "upto", default="", metavar="REF", help="Only objects that this ref holds.")
@click.option(
    "--upkeep", is_flag=True, help="Leave a few overlaps and a few small objects alone: they cost scans little."
)
@click.option("--dry-run", is_flag=True, help="Only show what would be merged.")
@job_options
@commit_options
def compact_command(
    branch: str,
    ids: tuple[str, ...],
    low: str | None,
    high: str | None,
    upto: str,
    upkeep: bool,
    dry_run: bool,
    engine: str,
    master: str | None,
    memory: str | None,
    message: str,
    author: str,
    meta: tuple[str, ...],
    date: str | None,
    form: str,
) -> None:
    """Merge data objects that overlap or are small. All objects of a branch are considered, or those with the given ids
    and what overlaps them.

    The rows stay the same. Earlier commits still hold the objects as they were.
    """
    from lochan.cli.output.progress import StageBar

    uri = branch_uri(branch)
    words = commit_message(message, author, meta, date)
    options = JobOptions(engine, master, memory).parsed()
    if dry_run or engine == "duckdb":
        without_pandas()

    async def work(target: Target) -> dict[str, Any]:
        from lochan.api.upkeep import CompactOptions

        settings = (await target.pool.show()).pool
        bounds = [_parse_key(option, text, settings) for option, text in (("--from", low), ("--to", high))]
        which = CompactOptions(ids=ids, low=bounds[0], high=bounds[1], up_to=upto, upkeep=upkeep)
        if dry_run:
            groups = await target.pool.try_compact(which, branch=uri.ref)
            return {"groups": [each.as_json() for each in groups]}
        done = await target.pool.compact(which, words, options, branch=uri.ref, progress=bar.show)
        return done.as_json()

    with StageBar("compact") as bar:
        record = work_on(uri, work, counted=True)
    if form == "json":
        show_record(record, form)
    elif dry_run:
        for group in record["groups"]:
            count = f"{count_noun(group['objects'], 'object')}, {count_noun(group['rows'], 'row')}"
            click.echo(f"{count}, {size(group['bytes'])}: {group['why']}")
    else:
        click.echo(
            f"compacted {record['before']} data objects into {record['after']}: {count_noun(record['rows'], 'row')}, "
            f"{size(record['bytes_before'])} into {size(record['bytes_after'])}, commit {record['head'][:SHORT]}"
        )


def _parse_key(option: str, text: str | None, settings: "PoolInfo | None") -> "Key | None":
    """Parses a value of the first field of the key: a time if it is declared so, or else a number or a text, which may
    be in quotes."""
    import json

    if text is None:
        return None
    if settings is not None and settings.first_key_is_time:
        return time(option, text)
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, bool | int | float | str) else text
