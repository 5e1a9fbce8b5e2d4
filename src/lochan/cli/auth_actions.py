"""`lochan auth actions`: what a policy can allow or deny."""

import click

from lochan.cli.shown import format_option, show_records


@click.command("actions")
@format_option
def command(form: str) -> None:
    """List every action, and the resource that it is asked about.

    \b
    Example:
      lochan auth actions
    """
    from lochan.access.actions import ACTIONS

    records = [{"action": name, "resource": on, "what": what} for name, (on, what) in ACTIONS.items()]
    show_records(records, form, columns=("action", "resource", "what"))
