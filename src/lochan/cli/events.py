"""`lochan events`: what happened in the lake, from its journals."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.output.records import cell, instant, show_line
from lochan.cli.verb import verb

if TYPE_CHECKING:
    from lochan.api.lake import EventLine, Lake

_LIMIT = 100
_LAKE = "_lake"


@verb("events", "lochan events demo -n 5")
@click.argument("repository", metavar="[REPO]", required=False)
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help=f"The last N events.  [default: {_LIMIT}]")
@click.option("--all", "everything", is_flag=True, help="All events from the beginning.")
@click.option("--after", type=click.IntRange(min=0), metavar="N", help="Events of the repository after record N.")
@click.option("--follow", is_flag=True, help="Wait for new events until interrupted.")
def events_command(
    repository: str | None, limit: int | None, everything: bool, after: int | None, follow: bool, form: str
) -> None:
    """Print the last events of REPO or of the whole lake. The newest comes last.

    REPO may be _lake, for repositories, users and permissions. With -f json, each event is one JSON object on a line of
    its own.
    """
    from lochan.cli.session import on_lake

    async def work(lake: "Lake") -> None:
        last = None if everything else limit or _LIMIT
        await _print(lake, repository, last=last, limit=limit, after=after, follow=follow, form=form)

    on_lake(work)


async def _print(
    lake: "Lake",
    repository: str | None,
    *,
    last: int | None,
    limit: int | None,
    after: int | None,
    follow: bool,
    form: str,
) -> None:
    """Prints events. After a record, or with `follow`, the limit ends the list; otherwise it is the number of events at
    the start."""
    count = 0
    names = await _names(lake)
    async for event in lake.events(repository, last=last, after=after, follow=follow):
        if event.repository not in names and event.repository != _LAKE:  # it was created while events are followed
            names = await _names(lake)
        name = names.get(event.repository, event.repository)
        if form == "json":
            show_line(event_record(event, name))
        else:
            click.echo(_line(event, name if repository is None else ""))
        count += 1
        if count == limit:
            return


async def _names(lake: "Lake") -> dict[str, str]:
    """Returns the names of repositories, by their ids."""
    return {each.id: each.name async for each in lake.repositories()}


def event_record(event: "EventLine", name: str) -> dict[str, Any]:
    return {
        "number": event.number,
        "index": event.index,
        "time": instant(event.time),
        "user": event.user,
        "author": event.author,
        "client": event.client,
        "source": event.source,
        "repository": name,
        "repository_id": event.repository,
        "type": event.type,
        "text": event.text,
        "payload": event.payload,
    }


def _line(event: "EventLine", name: str) -> str:
    where = f"{event.number}.{event.index}"
    who = f"{event.user} for {event.author}" if event.author else event.user
    words = (f"{where:>8}", instant(event.time), cell(who), cell(name), cell(event.text))
    return "  ".join(word for word in words if word)
