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
        raise Invalid("--checkpoint is for Spark", hint="how far topics were read is kept in the commits")
    if request.input_format and request.source != "folder":
        raise Invalid(f"--input-format is for --from folder; {request.source} has rows of its own", hint="leave it out")
    if request.once and request.source in ("rate", "socket"):
        raise Invalid(f"--once: there is no end to --from {request.source}", hint="leave it out, and stop it by Ctrl-C")
