"""`lochan ingest stream`: rows that keep coming are followed into a pool."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.options import notes
from lochan.cli.output.records import format_option
from lochan.cli.pool.load import FORMATS
from lochan.cli.target import branch_uri
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.cli.ingest.stream_request import StreamRequest


SOURCES = ("folder", "kafka", "rate", "socket")


@click.command("stream")
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
@click.option("--no-compact", is_flag=True, help="Leave small data objects to `lochan manage`.")
@click.option("-m", "--message", default="", help="The message of each commit.")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="Metadata of each commit; may be repeated.")
@click.option("--master", metavar="URL", help="The Spark master. Default: as configured, or else local[*].")
@click.option(
    "--memory", default="512MiB", show_default=True, metavar="SIZE", help="The most memory that one task may use."
)
@format_option
def stream_command(pool: str, place: str | None, source: str, form: str, **rest: Any) -> None:
    """Load rows into POOL as they arrive. There is a commit every few seconds, and each row is loaded once.

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
    from lochan.cli.ingest.stream_request import StreamRequest

    request = StreamRequest(branch_uri(pool), source, place or "", form, notes=notes(rest.pop("metadata")), **rest)
    _check(request)
    if source == "kafka":
        from lochan.cli.ingest.stream_kafka import follow

        follow(request)
    else:
        from lochan.cli.ingest.stream_spark import follow as follow_on_spark

        follow_on_spark(request)


def _check(request: "StreamRequest") -> None:
    """Raises Invalid for what does not go together."""
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
