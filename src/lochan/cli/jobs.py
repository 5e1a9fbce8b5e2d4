"""`lochan jobs`: what ran on Spark for this lake, and what runs now."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.output.records import cell, echo_table, format_option, instant, show_record, show_records, size

if TYPE_CHECKING:
    from lochan.formats.job import JobRecord


@click.group("jobs", cls=LazyGroup, invoke_without_command=True)
@format_option
@click.pass_context
def group(ctx: click.Context, form: str) -> None:
    """Jobs on Spark: what each is about, how far it is, how it ended. Alone, the same as `lochan jobs list`."""
    if ctx.invoked_subcommand is None:
        list_jobs(_LIMIT, form)


_LIMIT = 20


@group.command("list")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=_LIMIT, show_default=True, metavar="N")
@format_option
def list_command(limit: int, form: str) -> None:
    """List the newest N jobs, the newest first.

    A job that says it runs, and was not heard of for a minute, is lost: its process was killed.

    \b
    Example:
      lochan jobs list -n 5
    """
    list_jobs(limit, form)


def list_jobs(limit: int, form: str) -> None:
    from lochan.cli.session import configuration, open_lake, run

    config = configuration()

    async def work() -> list[dict[str, Any]]:
        from lochan.jobs.listing import jobs

        async with open_lake(config) as lake:
            return [job_record(each) for each in await jobs(lake.store, lake.clock.wall(), limit)]

    records = run(config, work())
    if form != "json":
        records = [_readable(each) for each in records]
    show_records(records, form, columns=("id", "kind", "about", "state", "progress", "rows", "started", "user"))


@group.command("show")
@click.argument("id", metavar="ID")
@format_option
def show_command(id: str, form: str) -> None:
    """Show a job by its id, or by the beginning of it.

    \b
    Example:
      lochan jobs show 2abc
    """
    from lochan.cli.session import configuration, open_lake, run

    config = configuration()

    async def work() -> "JobRecord":
        from lochan.jobs.listing import job

        async with open_lake(config) as lake:
            return await job(lake.store, id, lake.clock.wall())

    found = run(config, work())
    record = job_record(found)
    if form == "json":
        show_record({**record, **_parts(found)}, form)
        return
    show_record(_readable(record), form)
    _print(found)


def _parts(job: "JobRecord") -> dict[str, Any]:
    return {
        "stages": [
            {"id": each.id, "name": each.name, "done": each.done, "total": each.total, "failed": each.failed}
            for each in job.stages
        ],
        "log": [{"time": instant(line.time), "text": line.text} for line in job.lines],
    }


def _print(job: "JobRecord") -> None:
    if job.stages:
        click.echo()
        rows = [[str(each.id), f"{each.done}/{each.total}", str(each.failed), cell(each.name)] for each in job.stages]
        echo_table(["STAGE", "TASKS", "FAILED", "NAME"], rows)
    if job.lines:
        click.echo()
        for line in job.lines:
            click.echo(f"{instant(line.time)}  {cell(line.text)}")


def job_record(job: "JobRecord") -> dict[str, Any]:
    return {
        "id": job.id,
        "kind": job.kind,
        "about": job.about,
        "state": job.state,
        "stages_done": sum(each.done == each.total for each in job.stages),
        "stages_total": len(job.stages),
        "done": job.done,
        "total": job.total,
        "rows": job.rows,
        "executor_bytes": job.executor_bytes,
        "driver_bytes": job.driver_bytes,
        "started": instant(job.started),
        "heard": instant(job.beat),
        "ended": instant(job.ended) if job.ended else None,
        "where": job.where,
        "user": job.user,
        "client": job.client,
        "source": job.source,
        "error": job.error,
    }


def _readable(record: dict[str, Any]) -> dict[str, Any]:
    """For people: progress in one word, and nothing that says nothing."""
    rest = {key: value for key, value in record.items() if key not in _PARTS}
    return {**rest, "progress": _progress(record), "written": _written(record)}


_PARTS = ("stages_done", "stages_total", "done", "total", "executor_bytes", "driver_bytes")


def _written(record: dict[str, Any]) -> str:
    by = {"executors": record["executor_bytes"], "the driver": record["driver_bytes"]}
    return ", ".join(f"{size(count)} by {who}" for who, count in by.items() if count is not None)


def _progress(record: dict[str, Any]) -> str:
    if not record["total"]:
        return ""
    tasks = f"{record['done']:,}/{record['total']:,}"
    return f"{tasks} in {record['stages_done']}/{record['stages_total']} stages" if record["stages_total"] else tasks
