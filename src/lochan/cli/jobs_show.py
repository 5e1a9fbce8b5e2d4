"""`lochan jobs show`: one job, with its stages and the last lines of its log."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.shown import cell, echo_table, format_option, instant, show_record

if TYPE_CHECKING:
    from lochan.formats.job import JobRecord


@click.command("show")
@click.argument("id", metavar="ID")
@format_option
def command(id: str, form: str) -> None:
    """Show a job by its id, or by the beginning of it.

    \b
    Example:
      lochan jobs show 2abc
    """
    from lochan.cli.job_record import job_record, shown
    from lochan.cli.session import configuration, open_lake, run

    config = configuration()

    async def work() -> "JobRecord":
        from lochan.jobs.job_list import job

        async with open_lake(config) as lake:
            return await job(lake.store, id, lake.clock.wall())

    found = run(config, work())
    record = job_record(found)
    if form == "json":
        show_record({**record, **_parts(found)}, form)
        return
    show_record(shown(record), form)
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
