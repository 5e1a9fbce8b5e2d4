"""`lochan jobs`: the jobs that ran or now run on Spark for this lake."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.output.records import cell, echo_table, show_record, show_records, size
from lochan.cli.verb import format_option

if TYPE_CHECKING:
    from lochan.api.jobs import JobInfo
    from lochan.api.lake import Lake


@click.group("jobs", cls=LazyGroup, invoke_without_command=True, params=[format_option()])
@click.pass_context
def group(ctx: click.Context, form: str) -> None:
    """Show jobs on Spark: what they work on, their progress, how they ended. Without a verb, it lists them."""
    if ctx.invoked_subcommand is None:
        list_jobs(_LIMIT, form)


_LIMIT = 20


@group.verb("list", "lochan jobs list -n 5")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    default=_LIMIT,
    show_default=True,
    metavar="N",
    help="How many jobs, at most.",
)
def list_command(limit: int, form: str) -> None:
    """List the newest N jobs, the newest first.

    A running job that has not reported for a minute is lost: its process was killed.
    """
    list_jobs(limit, form)


def list_jobs(limit: int, form: str) -> None:
    from lochan.cli.session import on_lake

    async def work(lake: "Lake") -> list[dict[str, Any]]:
        return [each.summary() for each in await lake.jobs(limit)]

    records = on_lake(work)
    if form != "json":
        records = [_record_for_people(each) for each in records]
    show_records(records, form, columns=("id", "kind", "about", "state", "progress", "rows", "started", "user"))


@group.verb("show", "lochan jobs show 2abc")
@click.argument("id", metavar="ID")
def show_command(id: str, form: str) -> None:
    """Show a job by its id, or by the beginning of it."""
    from lochan.cli.session import on_lake

    found = on_lake(lambda lake: lake.job(id))
    if form == "json":
        show_record(found.as_json(), form)
        return
    show_record(_record_for_people(found.summary()), form)
    _print(found)


def _print(job: "JobInfo") -> None:
    if job.stages:
        click.echo()
        rows = [[str(each.id), f"{each.done}/{each.total}", str(each.failed), cell(each.name)] for each in job.stages]
        echo_table(["STAGE", "TASKS", "FAILED", "NAME"], rows)
    if job.log:
        click.echo()
        for line in job.log:
            click.echo(f"{line.as_json()['time']}  {cell(line.text)}")


def _record_for_people(record: dict[str, Any]) -> dict[str, Any]:
    """Returns a record for people: progress in one word, without empty fields."""
    rest = {key: value for key, value in record.items() if key not in _PARTS}
    return {**rest, "progress": _progress(record), "written": _written_bytes(record)}


_PARTS = ("stages_done", "stages_total", "done", "total", "executor_bytes", "driver_bytes")


def _written_bytes(record: dict[str, Any]) -> str:
    by = {"executors": record["executor_bytes"], "the driver": record["driver_bytes"]}
    return ", ".join(f"{size(count)} by {who}" for who, count in by.items() if count is not None)


def _progress(record: dict[str, Any]) -> str:
    if not record["total"]:
        return ""
    tasks = f"{record['done']:,}/{record['total']:,}"
    return f"{tasks} in {record['stages_done']}/{record['stages_total']} stages" if record["stages_total"] else tasks
