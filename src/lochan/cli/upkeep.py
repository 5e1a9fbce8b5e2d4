"""`lochan upkeep`: the tasks that a server does by schedule, their state, and a run of them without a server."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.output.records import cell, show_line, show_records

if TYPE_CHECKING:
    from lochan.api.lake import Lake
    from lochan.api.upkeep_tasks import UpkeepOptions
    from lochan.config.load import Config


@click.group("upkeep", cls=LazyGroup)
def group() -> None:
    """Show and run the tasks that keep a lake in order.

    A server does them by itself, as the settings `upkeep.…` say. Without a server, let a scheduler such as cron call
    `lochan upkeep run` every few minutes: it does what is due.
    """


@group.verb("status", "lochan upkeep status")
def status_command(form: str) -> None:
    """Show every task: its schedule, when it was last begun, how that ended, and when it is due."""
    from lochan.cli.session import configuration, on_lake

    options = upkeep_options(configuration())

    async def work(lake: "Lake") -> list[dict[str, Any]]:
        return [each.as_json() for each in await lake.upkeep_status(options)]

    show_records(on_lake(work), form, columns=("task", "schedule", "last", "due", "state", "error", "about"))


@group.verb("run", "lochan upkeep run trim")
@click.argument("tasks", nargs=-1, metavar="[TASK...]")
def run_command(tasks: tuple[str, ...], form: str) -> None:
    """Do these tasks now, whether they are due or not. Without a task, do those that are on and due."""
    from lochan.cli.session import configuration, on_lake
    from lochan.errors import LochanError

    options = upkeep_options(configuration())

    async def work(lake: "Lake") -> tuple[int, int]:
        steps = failures = 0
        async for step in lake.run_upkeep(tasks, options):
            steps += 1
            failures += bool(step.error)
            if form == "json":
                show_line(step.as_json())
            else:
                problem = f": {step.error}" if step.error else ""
                click.echo(cell(f"{step.task}: {step.where}: {step.outcome}{problem}"))
        return steps, failures

    steps, failures = on_lake(work)
    if not steps and form != "json":
        click.echo("nothing to do")
    if failures:
        raise LochanError(f"{failures} of {steps} steps failed", hint="`lochan jobs` shows each run and its log")


def upkeep_options(config: "Config") -> "UpkeepOptions":
    """Returns the options by the settings. Raises NotFound, Invalid, Refused for a policy that cannot be read."""
    from lochan.api.upkeep import read_policy
    from lochan.api.upkeep_tasks import TASKS, UpkeepOptions

    settings = config.settings
    policy = read_policy(settings.manage.policy) if settings.manage.policy is not None else None
    by_policy = "off" if policy is None else f"{max(policy.every_s, 1):g}s"
    schedule = {name: getattr(settings.upkeep, name) or by_policy for name in TASKS}
    return UpkeepOptions(
        schedule=schedule,
        policy=policy,
        upload_days=settings.gateways.s3.upload_days,
        usage_days=settings.usage.keep_days,
        grace_hours=settings.upkeep.grace_hours,
        scrub_rate=settings.upkeep.scrub_rate,
        scrub_minutes=settings.upkeep.scrub_minutes,
        ingest_sources=settings.upkeep.ingest_sources or "",
        memory_bytes=settings.upkeep.memory,
        threads=settings.upkeep.threads,
    )
