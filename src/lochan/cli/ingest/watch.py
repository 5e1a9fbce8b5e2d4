"""`lochan ingest watch`: a prefix of a branch follows a folder or a bucket as files are added, changed and removed."""

from typing import TYPE_CHECKING

import click

from lochan.cli.error_boundary import print_message
from lochan.cli.ingest.files import ingest_source, ingest_uri
from lochan.cli.ingest.stream import stop_requests
from lochan.cli.options import seconds
from lochan.cli.output.records import SHORT, count_noun, show_line, size
from lochan.cli.target import Target, work_on
from lochan.cli.verb import verb

if TYPE_CHECKING:
    from lochan.api.watch import WatchBatch


@verb(
    "watch",
    "lochan ingest watch --from-path s3://bucket/data/ --to-path demo@main/data/ --every 5m",
    "lochan ingest watch --from-path s3://bucket/data/ --to-path demo@main/data/ --events listen",
)
@click.option("--from-path", "source", required=True, metavar="URL", help="The folder or prefix outside the lake.")
@click.option("--to-path", "target", required=True, metavar="REPO[@BRANCH][/PREFIX]", help="Where its files appear.")
@click.option("--keep-removed", is_flag=True, help="Keep objects that are no longer at the source.")
@click.option(
    "--every", default="60s", show_default=True, metavar="TIME", help="Without --events: how often to compare."
)
@click.option(
    "--events",
    default="",
    metavar="FILE|-|listen",
    help="Where the bucket's events come from: a file or standard input with an S3 event notification on each line, or "
    "the store itself, if it is MinIO. Default: there are none.",
)
@click.option(
    "--batch-count",
    type=click.IntRange(min=1),
    default=1_000,
    show_default=True,
    metavar="N",
    help="How many events make a commit, at most.",
)
@click.option(
    "--batch-age", default="10s", show_default=True, metavar="TIME", help="How long an event may wait for its commit."
)
@click.option(
    "--full-every",
    default="1h",
    show_default=True,
    metavar="TIME",
    help="With --events: how often to compare the whole source, because events get lost.",
)
@click.option("--once", is_flag=True, help="Bring in what is there now, and end. Default: wait for more.")
@click.option("-m", "--message", default="", help="The message of each commit.")
def watch_command(
    source: str,
    target: str,
    keep_removed: bool,
    every: str,
    events: str,
    batch_count: int,
    batch_age: str,
    full_every: str,
    once: bool,
    message: str,
    form: str,
) -> None:
    """Follow a folder or a bucket: files that are added, changed or removed there are so here, without a copy.

    It compares the whole source at its start and then now and then. Events of the bucket only tell which files to look
    at in between. Each batch is one commit. It goes on until it is stopped (Ctrl-C or SIGTERM).
    """
    from lochan.api.watch import WatchOptions

    uri = ingest_uri(target)
    options = WatchOptions(
        every_s=seconds("--every", every),
        full_s=seconds("--full-every", full_every),
        batch_count=batch_count,
        batch_s=seconds("--batch-age", batch_age),
        keep_removed=keep_removed,
        once=once,
        message=message,
    )

    async def work(at: Target) -> None:
        with stop_requests() as stop:
            await at.branch.ingest_watch(
                ingest_source(source, uri), options, events=events, stop=stop, progress=lambda made: _show(made, form)
            )

    work_on(uri, work)


def _show(made: "WatchBatch", form: str) -> None:
    if form == "json":
        show_line(made.as_json())
        return
    if made.unread:
        print_message(
            f"{count_noun(made.unread, 'line')} could not be read as events", "the next comparison makes up for it"
        )
    what = "compared all" if made.events is None else count_noun(made.events, "event")
    if made.commit is None:
        click.echo(f"{what}: nothing had changed")
        return
    counts = f"{made.added} added, {made.changed} changed, {made.removed} removed ({size(made.bytes)})"
    click.echo(f"batch {made.number}: {what}: {counts}, commit {made.commit[:SHORT]}")
