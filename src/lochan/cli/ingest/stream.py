"""`lochan ingest stream`: loads rows into a pool as they arrive."""

from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.error_boundary import print_message
from lochan.cli.options import notes, seconds, size_bytes
from lochan.cli.output.records import SHORT, count_noun, printable, show_line, size
from lochan.cli.pool.load import FORMATS, say_unparsed
from lochan.cli.target import Target, Uri, branch_uri, work_on
from lochan.cli.verb import verb
from lochan.errors import Invalid

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from lochan.api.streams import StreamBatch, StreamOptions, StreamSource


SOURCES = ("folder", "kafka", "rate", "socket")


@verb("stream", "lochan ingest stream logs --from folder inbox")
@click.argument("pool", metavar="POOL[@BRANCH]")
@click.argument("place", required=False, metavar="[DIR|HOST:PORT]")
@click.option("--from", "source", type=click.Choice(SOURCES), required=True, help="Where rows come from.")
@click.option(
    "-i",
    "--input-format",
    type=click.Choice(FORMATS),
    help="The format of the files. Default: detected from their content.",
)
@click.option("--brokers", metavar="HOST:PORT,...", help="The Kafka brokers.")
@click.option("--topic", "topics", multiple=True, metavar="NAME", help="A Kafka topic; may be repeated.")
@click.option(
    "--kafka", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the Kafka client; may be repeated."
)
@click.option(
    "--latest", is_flag=True, help="If a topic was never read: start with new messages. Default: with the oldest."
)
@click.option("--go-on", is_flag=True, help="Continue if Kafka has deleted messages that were not read. Default: stop.")
@click.option(
    "--rows-per-second",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --from rate: how many rows to make per second.",
)
@click.option(
    "--files-per-batch",
    type=click.IntRange(min=1),
    default=1_000,
    show_default=True,
    metavar="N",
    help="How many files to read for one commit, at most.",
)
@click.option(
    "--every", default="10s", show_default=True, metavar="TIME", help="The shortest time between two commits."
)
@click.option(
    "--once", "--available-now", "once", is_flag=True, help="Read what is there now, and end. Default: wait for more."
)
@click.option(
    "--checkpoint", metavar="DIR", help="The folder where Spark keeps its progress. Default: one in your state folder."
)
@click.option(
    "--on-error",
    type=click.Choice(["fail", "skip", "keep"]),
    default="fail",
    show_default=True,
    help="What to do with input that is not a row: end the stream, skip it, or keep it as a row of its own.",
)
@click.option(
    "--compact",
    type=click.Choice(["driver", "spark", "none"]),
    help="Where to merge small data objects: in this process, by tasks of Spark, or nowhere. Default: as configured, "
    "or else driver.",
)
@click.option("--no-compact", is_flag=True, help="Leave small data objects to `lochan manage`, as --compact none does.")
@click.option("-m", "--message", default="", help="The message of each commit.")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="Metadata of each commit; may be repeated.")
@click.option("--master", metavar="URL", help="The Spark master. Default: as configured, or else local[*].")
@click.option(
    "--memory", default="512MiB", show_default=True, metavar="SIZE", help="The most memory that one task may use."
)
def stream_command(pool: str, place: str | None, source: str, form: str, **rest: Any) -> None:
    """Load rows into POOL as they arrive. There is a commit every few seconds, and each row is loaded once.

    \b
    --from folder DIR              files that are put there; they are left there
    --from kafka --brokers --topic JSON messages; no Spark is needed
    --from socket HOST:PORT        lines of JSON
    --from rate --rows-per-second  rows to try things with

    It goes on until it is stopped (Ctrl-C or SIGTERM), when what was read has landed. Killed and started again, it goes
    on where it was.
    """
    uri, request = branch_uri(pool), SimpleNamespace(source=source, place=place or "", **rest)
    _check(request)
    _follow(uri, request, form)


def _check(request: SimpleNamespace) -> None:
    """Raises Invalid for options that do not go together. `request` has them by their names, as the user gave them."""
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
        raise Invalid("--checkpoint is for Spark", hint="the commits record how far topics were read")
    if request.input_format and request.source != "folder":
        raise Invalid(f"--input-format is for --from folder; {request.source} has rows of its own", hint="leave it out")
    if request.once and request.source in ("rate", "socket"):
        raise Invalid(
            f"--once: there is no end to --from {request.source}", hint="leave it out, and stop the stream with Ctrl-C"
        )


def _follow(uri: Uri, request: SimpleNamespace, form: str) -> None:
    import asyncio

    source = _source(request)

    async def work(at: Target) -> None:
        branch = uri.ref or (await at.repository.show()).default_branch
        printer = BatchPrinter(uri._replace(ref=branch), form, keeps=request.on_error == "keep")
        with stop_requests() as stop:
            options = _options(uri.repository, request)
            await at.pool.ingest_stream(source, options, branch=branch, stop=stop, progress=printer)
        printer.end()

    try:
        work_on(uri, work, counted=True)
    except asyncio.CancelledError:  # the user has pressed Ctrl-C twice
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
    """Parses a setting. Raises Invalid."""
    key, separator, value = text.partition("=")
    if not separator or not key:
        hint = "such as --kafka security.protocol=SSL"
        raise Invalid(f"--kafka {key!r}: a setting is given as KEY=VALUE", hint=hint)
    return key, value


def _options(pool: str, request: SimpleNamespace) -> "StreamOptions":
    """Returns the options of a stream. The policy of upkeep decides whether small objects are merged behind it, and
    into which size."""
    from lochan.api.streams import StreamOptions
    from lochan.cli.pool.manage import policy
    from lochan.cli.session import configuration
    from lochan.connection import state_place

    found = configuration()
    rule = policy(found).rule(pool)
    place = request.compact or found.settings.spark.stream_compaction
    return StreamOptions(
        every_s=seconds("--every", request.every),
        once=request.once,
        on_error=request.on_error,
        message=request.message,
        metadata=notes(request.metadata),
        memory_bytes=size_bytes("--memory", request.memory),
        compact=place if rule.compact and not request.no_compact else "none",
        size_bytes=rule.size_bytes,
        master=request.master,
        checkpoint=request.checkpoint or "",
        state_folder=str(state_place()),
    )


@contextmanager
def stop_requests() -> "Iterator[threading.Event]":
    """Yields an event that is set when the user stops the stream. A second Ctrl-C does not wait."""
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


# The output of `lochan ingest stream`: a line for each batch, and one at the end.


class BatchPrinter:
    """Prints batches. `keeps` means that lines that are no rows are kept as rows of their own."""

    def __init__(self, target: Uri, form: str, *, keeps: bool) -> None:
        self._target = target
        self._form = form
        self._keeps = keeps
        self._rows = self._commits = 0

    def __call__(self, number: int, batch: "StreamBatch") -> None:
        self._rows += batch.rows
        self._commits += bool(batch.rows)
        if self._form == "json":
            show_line(_record(number, batch))
            return
        for fault in batch.first_faults:
            print_message(str(fault), f"near {fault.near!r}" if fault.near else "")
        if batch.faults:
            done = "kept as rows with _error" if self._keeps else "left out"
            print_message(f"{batch.faults:,} line{' was' if batch.faults == 1 else 's were'} no row, and {done}")
        say_unparsed(batch.unparsed_times)
        if batch.again:
            click.echo(f"batch {number}: had landed before, commit {batch.commit[:SHORT]}")
        elif batch.commit:
            rows = f"{count_noun(batch.rows, 'row')}, {size(batch.size_bytes)}"
            click.echo(f"batch {number}: {rows}, commit {batch.commit[:SHORT]}")

    def end(self) -> None:
        if self._form != "json":
            many = f"{self._commits} commit{'' if self._commits == 1 else 's'}"
            click.echo(f"stopped: {count_noun(self._rows, 'row')} into {printable(str(self._target))} by {many}")


def _record(number: int, batch: "StreamBatch") -> dict[str, Any]:
    return {
        "batch": number,
        "commit": batch.commit or None,
        "rows": batch.rows,
        "objects": batch.objects,
        "bytes": batch.size_bytes,
        "errors": batch.faults,
        "first_errors": [str(fault) for fault in batch.first_faults],
        "unparsed_times": batch.unparsed_times,
        "again": batch.again,
    }
