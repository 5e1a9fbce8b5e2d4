"""`lochan ingest stream`: rows that keep coming are followed into a pool."""

from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.options.values import notes, seconds, size_bytes
from lochan.cli.output.records import format_option
from lochan.cli.pool.load import FORMATS
from lochan.cli.target import Target, work_on
from lochan.cli.uri import Uri, branch_uri
from lochan.errors import Invalid

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from lochan.api.streams import StreamOptions, StreamSource


SOURCES = ("folder", "kafka", "rate", "socket")


@click.command("stream")
@click.argument("pool", metavar="POOL[@BRANCH]")
@click.argument("place", required=False, metavar="[DIR|HOST:PORT]")
@click.option("--from", "source", type=click.Choice(SOURCES), required=True, help="Where rows come from.")
@click.option("-i", "--input-format", type=click.Choice(FORMATS), help="What files are; else their content tells.")
@click.option("--brokers", metavar="HOST:PORT,...", help="Kafka's brokers.")
@click.option("--topic", "topics", multiple=True, metavar="NAME", help="A topic of Kafka; may be repeated.")
@click.option("--kafka", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of Kafka's client.")
@click.option("--latest", is_flag=True, help="Of a topic that was never read: only what comes from now on.")
@click.option("--go-on", is_flag=True, help="Go on where Kafka has dropped messages that were not read.")
@click.option("--rows-per-second", type=click.IntRange(min=1), metavar="N", help="Of --from rate.")
@click.option("--files-per-batch", type=click.IntRange(min=1), default=1_000, show_default=True, metavar="N")
@click.option(
    "--every", default="10s", show_default=True, metavar="TIME", help="From one commit to the next, at least."
)
@click.option("--once", "--available-now", "once", is_flag=True, help="Read all that is there, and end.")
@click.option("--checkpoint", metavar="DIR", help="Where Spark keeps how far it is. Default: a folder of your own.")
@click.option(
    "--on-error",
    type=click.Choice(["fail", "skip", "keep"]),
    default="fail",
    show_default=True,
    help="What becomes of input that is no row: it ends the stream, is left out, or is kept as a row of its own.",
)
@click.option("--no-compact", is_flag=True, help="Leave small data objects to `lochan manage`.")
@click.option("-m", "--message", default="", help="What each commit is to say.")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="A note of each commit; may be repeated.")
@click.option("--master", metavar="URL", help="Where Spark runs. Default: as configured, else local[*].")
@click.option("--memory", default="512MiB", show_default=True, metavar="SIZE", help="What one task may use.")
@format_option
def stream_command(pool: str, place: str | None, source: str, form: str, **rest: Any) -> None:
    """Follow a source into POOL: a commit for what has come in a while, each row once.

    \b
    --from folder DIR              files that are put there; they are left there
    --from kafka --brokers --topic JSON messages; no Spark is needed
    --from socket HOST:PORT        lines of JSON
    --from rate --rows-per-second  rows to try things with

    It goes on until it is stopped (Ctrl-C or SIGTERM), when what was read has landed. Killed and started again, it goes
    on where it was.

    \b
    Example:
      lochan ingest stream logs --from folder inbox
    """
    uri, request = branch_uri(pool), SimpleNamespace(source=source, place=place or "", **rest)
    _check(request)
    _follow(uri, request, form)


def _check(request: SimpleNamespace) -> None:
    """`request` has the options by their names, as they were given. Raises Invalid for what does not go together."""
    needed = {
        "folder": ("a folder", request.place),
        "socket": ("HOST:PORT", request.place),
        "kafka": ("--brokers and --topic", request.brokers and request.topics),
        "rate": ("--rows-per-second", request.rows_per_second),
    }
    what, there = needed[request.source]
    if not there:
        raise Invalid(f"--from {request.source} needs {what}", hint="`lochan ingest stream --help` shows how")
    if request.place and request.source in ("kafka", "rate"):
        raise Invalid(f"--from {request.source} takes no {request.place!r}", hint="leave it out")
    if request.source != "kafka":
        for option, given in (
            ("--brokers", request.brokers),
            ("--topic", request.topics),
            ("--kafka", request.settings),
            ("--latest", request.latest),
            ("--go-on", request.go_on),
        ):
            if given:
                raise Invalid(f"{option} is for --from kafka", hint="leave it out")
    elif request.checkpoint:
        raise Invalid("--checkpoint is for Spark", hint="how far topics were read is kept in the commits")
    if request.input_format and request.source != "folder":
        raise Invalid(f"--input-format is for --from folder; {request.source} has rows of its own", hint="leave it out")
    if request.once and request.source in ("rate", "socket"):
        raise Invalid(f"--once: there is no end to --from {request.source}", hint="leave it out, and stop it by Ctrl-C")


def _follow(uri: Uri, request: SimpleNamespace, form: str) -> None:
    import asyncio

    from lochan.cli.output.stream_batches import BatchPrinter

    source = _source(request)

    async def work(at: Target) -> None:
        branch = uri.ref or (await at.repository.show()).default_branch
        printer = BatchPrinter(uri._replace(ref=branch), form, keeps=request.on_error == "keep")
        with _stop_requests() as stop:
            options = _options(uri.repository, request)
            await at.pool.ingest_stream(source, options, branch=branch, stop=stop, progress=printer)
        printer.end()

    try:
        work_on(uri, work, counted=True)
    except asyncio.CancelledError:  # the user asked twice
        raise KeyboardInterrupt from None


def _source(request: SimpleNamespace) -> "StreamSource":
    from lochan.api.streams import FolderSource, KafkaSource, RateSource, SocketSource

    match request.source:
        case "folder":
            per_batch = request.files_per_batch
            return FolderSource(folder=request.place, format=request.input_format, files_per_batch=per_batch)
        case "socket":
            return SocketSource(address=request.place)
        case "rate":
            return RateSource(rows_per_second=request.rows_per_second or 1)
        case _:
            return KafkaSource(
                brokers=request.brokers or "",
                topics=request.topics,
                settings=dict(map(_client_setting, request.settings)),
                latest=request.latest,
                go_on=request.go_on,
            )


def _client_setting(text: str) -> tuple[str, str]:
    """Raises Invalid."""
    key, separator, value = text.partition("=")
    if not separator or not key:
        hint = "such as --kafka security.protocol=SSL"
        raise Invalid(f"--kafka {key!r}: a setting is given as KEY=VALUE", hint=hint)
    return key, value


def _options(pool: str, request: SimpleNamespace) -> "StreamOptions":
    """Whether small objects are merged behind it, and into which size, is as the policy of upkeep says."""
    from lochan.api.streams import StreamOptions
    from lochan.cli.pool.manage import policy
    from lochan.cli.session import configuration
    from lochan.connection import state_place

    rule = policy(configuration()).rule(pool)
    return StreamOptions(
        every_s=seconds("--every", request.every),
        once=request.once,
        on_error=request.on_error,
        message=request.message,
        metadata=notes(request.metadata),
        memory_bytes=size_bytes("--memory", request.memory),
        compact=rule.compact and not request.no_compact,
        size_bytes=rule.size_bytes,
        master=request.master,
        checkpoint=request.checkpoint or "",
        state_folder=str(state_place()),
    )


@contextmanager
def _stop_requests() -> "Iterator[threading.Event]":
    """Set when the user wants it to stop; whoever asks twice does not want to wait."""
    import asyncio
    import signal
    import threading

    stop = threading.Event()
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def ask() -> None:
        if stop.is_set():
            task.cancel()
        stop.set()

    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, ask)
    try:
        yield stop
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
