"""`lochan auth actions` and `can`: what a policy can allow, and whether a user may do something."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.auth.records import look
from lochan.cli.exit_codes import REFUSED
from lochan.cli.output.records import format_option, printable, show_record, show_records

if TYPE_CHECKING:
    from lochan.access.decide import Decision
    from lochan.access.state import Access


@click.command("actions")
@format_option
def actions_command(form: str) -> None:
    """List every action, and the resource that it is asked about.

    \b
    Example:
      lochan auth actions
    """
    from lochan.access.actions import ACTIONS

    records = [{"action": name, "resource": on, "what": what} for name, (on, what) in ACTIONS.items()]
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

    def work(access: "Access") -> "Decision":
        from lochan.access import resources
        from lochan.access.decide import explain

        resources.check(resource)
        return explain(access, user, action, resource)

    decision = look(work)
    if form == "json":
        show_record({"user": user, "action": action, "resource": resource, **_record(decision)}, form)
    else:
        click.echo(f"{'allowed' if decision.allowed else 'denied'}: {_why(decision)}")
    if not decision.allowed:
        ctx.exit(REFUSED)


def _record(decision: "Decision") -> dict[str, Any]:
    from lochan.access.policy_file import written

    found = decision.statement
    return {
        "allowed": decision.allowed,
        "policy": decision.policy or None,
        "number": decision.number or None,
        "statement": None if found is None else written((found,))[0],
    }


def _why(decision: "Decision") -> str:
    if decision.statement is None:
        return "no statement of the user's policies fits"
    said = f"{decision.statement.effect} {' on '.join(decision.fits)}"
    return f"statement {decision.number} of policy {printable(decision.policy)}: {printable(said)}"
