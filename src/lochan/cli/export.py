"""`lochan export`: objects of a ref as plain files."""

from typing import TYPE_CHECKING

import click

from lochan.api.local_files import place_url
from lochan.cli.output import progress
from lochan.cli.output.records import SHORT, count_noun, show_answer, size
from lochan.cli.target import Target, folder, prefix_uri, work_on
from lochan.cli.verb import verb
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.api.export import ExportResult


@verb("export", "lochan export demo@v1/data/ out/", "lochan export demo@v2 --since demo@v1 s3://bucket/copy/ --delete")
@click.argument("source", metavar="REPO[@REF][/PREFIX]")
@click.argument("destination", metavar="DIR|URL")
@click.option(
    "--since", metavar="REPO@REF", help="Export only what was added or changed since then. Default: everything."
)
@click.option("--delete", is_flag=True, help="With --since: remove files that were removed since then.")
@click.option(
    "--engine",
    type=click.Choice(["auto", "spark"]),
    default="auto",
    show_default=True,
    help="Where files are written: by this process, or by tasks of Spark.",
)
@click.option("--master", metavar="URL", help="The Spark master. Default: as configured, or else local[*].")
def export_command(
    source: str, destination: str, since: str | None, delete: bool, engine: str, master: str | None, form: str
) -> None:
    """Write the objects of a commit to a folder or a bucket as plain files. What is staged is not exported.

    Each file appears whole, with checked bytes. An export that was interrupted goes on when it is run again. At the
    end, _manifest/ lists the files, and what was removed, and _SUCCESS says that all is there.
    """
    from lochan.api.options import EngineOptions

    uri = prefix_uri(source)
    earlier = None if since is None else prefix_uri(since)
    if earlier is not None and (earlier.repository != uri.repository or earlier.path):
        raise Invalid(f"--since {since}: it must be a ref of {uri.repository}", hint=f"such as {uri.repository}@v1")
    chosen = EngineOptions(engine=engine, master=master)

    async def work(at: Target) -> "ExportResult":
        with progress.count_progress("exporting", "bytes", visible=form != "json") as seen:
            return await at.ref.export(
                place_url(destination),
                prefix=folder(uri.path),
                since=None if earlier is None else at.repository.ref(earlier.ref),
                delete=delete,
                engine=chosen,
                progress=seen,
            )

    done = work_on(uri, work)
    gone = f", {done.removed} removed" if done.since else ""
    gone += f" ({done.deleted} deleted)" if done.deleted else ""
    there = f", {done.present} of them were there" if done.present else ""
    show_answer(
        done.as_json(),
        form,
        f"exported {done.commit[:SHORT]}: {count_noun(done.files, 'file')} ({size(done.bytes)}){there}{gone}",
    )
