"""`lochan jobs`: what ran on Spark for this lake, and what runs now."""

import click

from lochan.cli.lazy import LazyGroup
from lochan.cli.shown import format_option

VERBS = {
    "list": "lochan.cli.jobs_list",
    "show": "lochan.cli.jobs_show",
}


@click.group("jobs", cls=LazyGroup, verbs=VERBS, invoke_without_command=True)
@format_option
@click.pass_context
def command(ctx: click.Context, form: str) -> None:
    """Jobs on Spark: what each is about, how far it is, how it ended. Alone, the same as `lochan jobs list`."""
    if ctx.invoked_subcommand is None:
        from lochan.cli.jobs_list import LIMIT, list_jobs

        list_jobs(LIMIT, form)
