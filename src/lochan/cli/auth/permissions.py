"""`lochan auth actions` and `can`: what a policy can allow, and whether a user may do something."""

from typing import TYPE_CHECKING

import click

from lochan.cli.exit_codes import REFUSED
from lochan.cli.output.records import format_option, printable, show_record, show_records
from lochan.cli.session import on_lake

if TYPE_CHECKING:
    from lochan.api.access_results import Decision
    from lochan.api.lake import Lake


@click.command("actions")
@format_option
def actions_command(form: str) -> None:
    """List every action, and the resource that it is asked about.

    \b
    Example:
      lochan auth actions
    """
    from lochan.api.access import actions

    records = [each.as_json() for each in actions()]
    show_records(records, form, columns=("action", "resource", "what"))


@click.command("can")
@click.argument("user")
@click.argument("action")
@click.argument("resource")
@format_option
@click.pass_context
def can_command(ctx: click.Context, user: str, action: str, resource: str, form: str) -> None:
    """Tell whether USER may do ACTION on RESOURCE.

    The exit code is 0 for yes and 5 for no.

    \b
    Example:
      lochan auth can ada fs:ReadObject repository/demo/branch/main/object/a.csv
    """

    async def work(lake: "Lake") -> "Decision":
        return await lake.access.can(user, action, resource)

    decision = on_lake(work, reads=True)
    if form == "json":
        record = {name: value for name, value in decision.as_json().items() if name != "fits"}
        show_record({"user": user, "action": action, "resource": resource, **record}, form)
    else:
        click.echo(f"{'allowed' if decision.allowed else 'denied'}: {_why(decision)}")
    if not decision.allowed:
        ctx.exit(REFUSED)


def _why(decision: "Decision") -> str:
    if decision.statement is None:
        return "no statement of the user's policies fits"
    said = f"{decision.statement['effect']} {' on '.join(decision.fits)}"
    return f"statement {decision.number} of policy {printable(decision.policy or '')}: {printable(said)}"
