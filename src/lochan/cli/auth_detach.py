"""`lochan auth detach`: a user loses a policy."""

import click

from lochan.cli.auth_work import OpenedAccess, change
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record


@click.command("detach")
@click.argument("user")
@click.argument("policy")
@request_key
@format_option
def command(user: str, policy: str, form: str) -> None:
    """Detach POLICY from USER. When this is answered, it counts at no server any more.

    \b
    Example:
      lochan auth detach ada Analyst
    """

    async def work(opened: OpenedAccess) -> list[str]:
        from lochan.access.policies import detach
        from lochan.access.state import principal

        await detach(opened.access, policy, principal(user), actor=opened.actor)
        return list(opened.access.folded().attached_to(principal(user)))

    policies = change(work)
    if form == "json":
        show_record({"user": user, "policies": policies}, form)
    else:
        click.echo(f"detached {printable(policy)} from {printable(user)}")
