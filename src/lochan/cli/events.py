"""`lochan events`: what happened in the lake, from its journals."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.shown import cell, format_option, instant, show_line

if TYPE_CHECKING:
    from lochan.journal.lines import EventLine
    from lochan.lake import Lake


@click.command("events")
@click.argument("repository", required=False)
@click.option("--follow", is_flag=True, help="Wait for new events until interrupted.")
@click.option("--after", type=click.IntRange(min=0), default=0, metavar="N", help="Only events of records after N.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=None, metavar="N", help="At most N events.")
@format_option
def command(repository: str | None, follow: bool, after: int, limit: int | None, form: str) -> None:
    """Print the events of REPOSITORY, or of the lake itself, oldest first.

    With -f json, each event is one JSON object on a line of its own.
    """
    from lochan.cli.session import configuration, open_lake, run

    config = configuration()

    async def work() -> None:
        async with open_lake(config) as lake:
            await _print(lake, repository, follow=follow, after=after, limit=limit, form=form)

    run(config, work())


async def _print(
    lake: "Lake", repository: str | None, *, follow: bool, after: int, limit: int | None, form: str
) -> None:
    count = 0
    async for event in lake.events(repository, after=after, follow=follow):
        if form == "json":
            show_line(event_record(event))
        else:
            click.echo(_line(event))
        count += 1
        if count == limit:
            return


def event_record(event: "EventLine") -> dict[str, Any]:
    return {
        "number": event.number,
        "index": event.index,
        "time": instant(event.time),
        "user": event.user,
        "author": event.author,
        "client": event.client,
        "source": event.source,
        "repository": event.repository,
        "type": event.type,
        "payload": event.payload,
    }


def _line(event: "EventLine") -> str:
    where = f"{event.number}.{event.index}"
    who = f"{event.user} for {event.author}" if event.author else event.user
    return f"{where:>8}  {instant(event.time)}  {cell(who)}  {cell(event.type)}  {cell(event.payload)}".rstrip()
