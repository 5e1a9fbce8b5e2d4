"""`lochan subscription`: the receivers of events of the lake, and the events that did not arrive."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.output.records import all_records, printable, show_answer, show_record, show_records
from lochan.cli.session import on_lake

if TYPE_CHECKING:
    from lochan.api.lake import Lake


@click.group("subscription", cls=LazyGroup)
def group() -> None:
    """Have events sent to a URL as they happen. A server of the lake sends them."""


@group.verb(
    "create",
    "lochan subscription create https://example.org/events --repository demo --branch main",
    "lochan subscription create https://example.org/events --type 'pull-*' --type moved",
    changes=True,
)
@click.argument("url", metavar="URL")
@click.option("--repository", metavar="REPO", help="Those of this repository, or of _lake. Default: all of the lake.")
@click.option("--branch", "branches", multiple=True, metavar="PATTERN", help="Those of such a branch; may be repeated.")
@click.option("--type", "types", multiple=True, metavar="PATTERN", help="Those of such a type; may be repeated.")
@click.option("--path", "prefix", default="", metavar="PREFIX", help="Those that name a path that begins like this.")
@click.option("--note", default="", metavar="TEXT", help="What it is for.")
def create_command(
    url: str,
    repository: str | None,
    branches: tuple[str, ...],
    types: tuple[str, ...],
    prefix: str,
    note: str,
    form: str,
) -> None:
    """Send events to URL from now on. Print the secret that signs them, which is not shown again.

    Every option that is given must fit an event. Patterns have * and ?.
    """
    from lochan.api.subscriptions import EventChoice

    choice = EventChoice(branches=branches, types=types, prefix=prefix)
    made = on_lake(lambda lake: lake.create_subscription(url, repository, choice, note=note))
    show_record(made.as_json(), form)
    if form != "json":
        click.echo("keep the secret: it is not shown again", err=True)


@group.verb("list", "lochan subscription list")
def list_command(form: str) -> None:
    """List your subscriptions, or all of them if you may manage them: the oldest first."""
    records = on_lake(lambda lake: all_records(lake.subscriptions()), reads=True)
    if form != "json":
        records = [{**each, "types": " ".join(each["types"])} for each in records]
    columns = ("id", "url", "owner", "repository", "types", "delivered", "dead", "trouble")
    show_records(records, form, columns=columns)


@group.verb("delete", "lochan subscription delete 3EsLk0rXJxvs8X1mSnGB2kGWVfS", changes=True)
@click.argument("id", metavar="ID")
def delete_command(id: str, form: str) -> None:
    """Send nothing more, and forget the dead letters."""
    on_lake(lambda lake: lake.delete_subscription(id))
    show_answer({"id": id}, form, f"deleted subscription {printable(id)}")


@group.verb("dead-letters", "lochan subscription dead-letters 3EsLk0rXJxvs8X1mSnGB2kGWVfS")
@click.argument("id", metavar="ID")
def dead_letters_command(id: str, form: str) -> None:
    """List the events that the receiver did not take."""
    records = on_lake(lambda lake: all_records(lake.dead_letters(id)), reads=True)
    if form != "json":
        records = [{**each, "types": " ".join(each["types"])} for each in records]
    show_records(records, form, columns=("id", "repository", "first", "events", "types", "time", "attempts", "trouble"))


@group.verb("redeliver", "lochan subscription redeliver 3EsLk0rXJxvs8X1mSnGB2kGWVfS", changes=True)
@click.argument("id", metavar="ID")
@click.argument("letters", metavar="[LETTER]...", nargs=-1)
def redeliver_command(id: str, letters: tuple[str, ...], form: str) -> None:
    """Have dead letters of subscription ID sent once more: these, or all of them."""

    async def work(lake: "Lake") -> dict[str, Any]:
        return {"id": id, "letters": await lake.redeliver(id, letters)}

    done = on_lake(work)
    show_answer(done, form, f"{done['letters']} dead letters will be sent once more")
