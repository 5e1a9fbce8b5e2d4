"""`lochan compact`: a pool's objects in good order again."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.open_ref import OpenRef, work_on
from lochan.cli.options.commit_options import commit_message, commit_options
from lochan.cli.options.engine_options import JobOptions, job_options
from lochan.cli.options.request_key import request_key
from lochan.cli.options.values import microseconds
from lochan.cli.output.commits import SHORT
from lochan.cli.output.records import counted, format_option, show_record, size
from lochan.cli.uri import branch_uri
from lochan.cli.without_pandas import without_pandas

if TYPE_CHECKING:
    from lochan.formats.pool_settings import PoolSettings
    from lochan.pools.keys import Span


@click.command("compact")
@click.argument("branch", metavar="POOL[@BRANCH]")
@click.argument("ids", nargs=-1, metavar="[ID...]")
@click.option("--from", "low", metavar="KEY", help="Only objects with keys from this one on.")
@click.option("--to", "high", metavar="KEY", help="Only objects with keys up to this one.")
@click.option("--up-to", "upto", default="", metavar="REF", help="Only objects that this ref holds.")
@click.option(
    "--upkeep", is_flag=True, help="Leave alone what costs scans little: a few overlaps, a few small objects."
)
@click.option("--dry-run", is_flag=True, help="Only say what would be merged.")
@job_options
@commit_options
@request_key
@format_option
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
    """Merge data objects that overlap or are small. Their rows come in the order of the key: all of a branch, or those
    with these ids and what overlaps them.

    The rows stay the same. Earlier commits still hold the objects as they were.

    \b
    Example:
      lochan compact logs
    """
    from lochan.cli.output.progress import StageBar
    from lochan.cli.session import configuration

    uri = branch_uri(branch)
    words = commit_message(message, author, meta, date)
    job = JobOptions(engine, master, memory)

    async def work(opened: OpenRef) -> dict[str, Any]:
        from lochan.engines.compacting import Wish, rehearse
        from lochan.jobs.compact.compact import How, compact
        from lochan.pools.upkeep import ALWAYS, UPKEEP

        wish = Wish(ids, _span(low, high, opened.pool), upto, UPKEEP if upkeep else ALWAYS)
        repository = opened.repository
        if dry_run or job.engine == "duckdb":
            without_pandas()
        if dry_run:
            groups = await rehearse(repository, opened.ref, wish)
            return {
                "groups": [
                    {"objects": len(each.paths), "rows": each.rows, "bytes": each.bytes, "why": each.why}
                    for each in groups
                ]
            }
        how = How(job.engine, job.limits(), job.spark(configuration()), bar.show)
        lake = opened.lake
        at = lake.queries().files, lake.place
        done = await compact(repository, opened.ref, *at, wish, words, actor=opened.actor, how=how)
        return done._asdict()

    with StageBar("compact") as bar:
        record = work_on(uri, work, counted=True)
    if form == "json":
        show_record(record, form)
    elif dry_run:
        for group in record["groups"]:
            count = f"{counted(group['objects'], 'object')}, {counted(group['rows'], 'row')}"
            click.echo(f"{count}, {size(group['bytes'])}: {group['why']}")
    else:
        click.echo(
            f"compacted {record['before']} data objects into {record['after']}: {counted(record['rows'], 'row')}, "
            f"{size(record['bytes_before'])} into {size(record['bytes_after'])}, commit {record['head'][:SHORT]}"
        )


def _span(low: str | None, high: str | None, settings: "PoolSettings") -> "Span | None":
    from lochan.pools.keys import bounds

    if low is None and high is None:
        return None
    first, last = _literal("--from", low, settings), _literal("--to", high, settings)
    span = bounds(first, last, settings)
    return span if span.low <= span.high else bounds(last, first, settings)  # either end may be given first


def _literal(option: str, text: str | None, settings: "PoolSettings") -> Any:
    """As the first field of the key is declared: a time, or else a number or a text, which may stand in quotes."""
    import json

    from lochan.pools.keys import Instant

    if text is None:
        return None
    if settings.keys[0].path in settings.times:
        moment = microseconds(option, text)
        return None if moment is None else Instant(moment)
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, bool | int | float | str) else text
