"""`lochan auth attach`: a policy for a user."""

import click

from lochan.cli.auth_work import OpenedAccess, change
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record


@click.command("attach")
@click.argument("user")
@click.argument("policy")
@request_key
@format_option
def command(user: str, policy: str, form: str) -> None:
    """Attach POLICY to USER.

    \b
    Example:
      lochan auth attach ada Analyst
    """

    async def work(opened: OpenedAccess) -> list[str]:
        from lochan.access.policies import attach
        from lochan.access.state import principal

        await attach(opened.access, policy, principal(user), actor=opened.actor)
        return list(opened.access.folded().attached_to(principal(user)))

    policies = change(work)
    if form == "json":
        show_record({"user": user, "policies": policies}, form)
    else:
        click.echo(f"attached {printable(policy)} to {printable(user)}")
