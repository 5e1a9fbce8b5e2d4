"""`lochan audit`: who did what, when, from where, and whether it was allowed."""

from typing import TYPE_CHECKING

import click

from lochan.cli.output.records import show_record, show_records
from lochan.cli.verb import verb

if TYPE_CHECKING:
    from lochan.api.audit import AuditPage


@verb("audit", "lochan audit --user ada --outcome denied", "lochan audit --repository shop --days 30 -f json")
@click.option(
    "--days", type=click.FloatRange(min=0, min_open=True), default=7.0, show_default=True, help="How far to look back."
)
@click.option("--user", default="", help="What this user did.")
@click.option("--repository", default="", metavar="REPO", help="What was done in this repository.")
@click.option("--outcome", type=click.Choice(["allowed", "denied", "failed"]), default=None, help="What came of it.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=50, show_default=True, metavar="N", help="How many.")
@click.option("--after", default="", metavar="PLACE", help="Go on where a page with -f json has ended (its `next`).")
def audit_command(
    days: float, user: str, repository: str, outcome: str | None, limit: int, after: str, form: str
) -> None:
    """Show who did what, when, from where, and whether it was allowed. The newest comes first.

    `lochan query 'from :audit'` has all of it, for as long as it is kept (usage.keep_days). Without a user's name, an
    entry is of somebody who was not let in.
    """
    from lochan.cli.session import on_lake

    page: AuditPage = on_lake(
        lambda lake: lake.audit(days, user=user, repository=repository, outcome=outcome or "", limit=limit, after=after)
    )
    if form == "json":
        show_record(page.as_json(), form)
        return
    entries = [each.as_json() for each in page.entries]
    for each in entries:
        place = f"{each['repository']}{each['ref'] and '@'}{each['ref']}{each['path'] and '/'}{each['path']}"
        each["what"] = " ".join(filter(None, (place, each["about"])))
    show_records(entries, form, columns=("time", "user", "client", "source", "action", "outcome", "what"))
