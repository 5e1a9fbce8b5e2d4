"""`lochan top`: shows where a server spends its time, now."""

import sys
from typing import TYPE_CHECKING

import click

from lochan.cli.output.records import printable, show_line
from lochan.cli.session import configuration, run
from lochan.cli.verb import verb
from lochan.config.find import is_server
from lochan.connection import lake_place, remote_address
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.api.server_times import ServerTimes

_INTERVAL_S = 2.0
_BACK, _CLEAR = "\x1b[{}A", "\x1b[J"  # moves up by so many lines; deletes everything below
_KEPT_LINES = 1  # lines of the terminal that stay free below the page


@verb("top", "lochan top", "lochan top --once -f json", "lochan top --profile work --interval 10")
@click.option("--once", is_flag=True, help="Print one page and end.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1, max=3600),
    metavar="SECONDS",
    help=f"How long each page covers.  [default: {_INTERVAL_S:g}; with --once, all since the server was started]",
)
def top_command(once: bool, interval: float | None, form: str) -> None:
    """Show where the time of a server goes: its S3 requests by operation, how many a second, how long they take, and
    in which phase.

    On a terminal the page is refreshed in place until you press Ctrl-C. With -f json, each page is one JSON object on a
    line of its own. The user needs lake:ReadMetrics on the lake.
    """
    config = configuration()
    place = lake_place(config)
    if not is_server(place.url):
        raise Invalid(
            f"{place.url} is no server, and only a server has requests to show",
            hint="give the address of its API, such as --lake http://127.0.0.1:8001, or --profile NAME",
        )
    address = remote_address(config, place, config.settings.user or "")
    view = TopView(in_place=form != "json" and not once and sys.stdout.isatty(), form=form)

    async def watch() -> None:
        import asyncio

        async with address.opened_server() as server:
            before = await server.times()
            if once and interval is None:
                view.show(before, "since the server was started")
                return
            seconds = _INTERVAL_S if interval is None else interval
            if view.in_place:
                view.show(before, "since the server was started")  # something to read meanwhile
            while True:
                await asyncio.sleep(seconds)
                now = await server.times()
                passed = now.since(before)
                view.show(passed, f"within {passed.span_s:.1f} s")
                if once:
                    return
                before = now

    run(config, watch())


class TopView:
    """Prints pages one below the other, or each in place of the last."""

    def __init__(self, *, in_place: bool, form: str) -> None:
        self.in_place = in_place
        self._form = form
        self._lines = 0  # the number of lines of the last page

    def show(self, times: "ServerTimes", span: str) -> None:
        from lochan.api.server_times import page, record

        if self._form == "json":
            show_line(record(times))
            return
        lines = page(times, span).splitlines()
        if self.in_place:
            lines = _fit_lines(lines)
            click.echo((_BACK.format(self._lines) if self._lines else "") + "\r" + _CLEAR, nl=False)
        click.echo("\n".join(map(printable, lines)))
        sys.stdout.flush()
        self._lines = len(lines)


def _fit_lines(lines: list[str]) -> list[str]:
    """Returns the lines that fit on the terminal, because lines that are broken or scroll away could not be
    overwritten."""
    import shutil

    width, height = shutil.get_terminal_size()
    return [line[:width] for line in lines[: max(1, height - _KEPT_LINES)]]
