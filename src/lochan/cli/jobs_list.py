"""`lochan jobs list`: the newest jobs."""

from typing import Any

import click

from lochan.cli.shown import format_option, show_records

LIMIT = 20


@click.command("list")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=LIMIT, show_default=True, metavar="N")
@format_option
def command(limit: int, form: str) -> None:
    """List the newest N jobs, the newest first.

    A job that says it runs, and was not heard of for a minute, is lost: its process was killed.

    \b
    Example:
      lochan jobs list -n 5
    """
    list_jobs(limit, form)


def list_jobs(limit: int, form: str) -> None:
    from lochan.cli.job_record import job_record, shown
    from lochan.cli.session import configuration, open_lake, run

    config = configuration()

    async def work() -> list[dict[str, Any]]:
        from lochan.jobs.job_list import jobs

        async with open_lake(config) as lake:
            return [job_record(each) for each in await jobs(lake.store, lake.clock.wall(), limit)]

    records = run(config, work())
    if form != "json":
        records = [shown(each) for each in records]
    show_records(records, form, columns=("id", "kind", "about", "state", "progress", "rows", "started", "user"))
