"""`lochan fsck`, `rebuild` and `scrub`: check a lake's files, and rebuild those that can be rebuilt."""

from typing import TYPE_CHECKING

import click

from lochan.cli import exit_codes
from lochan.cli.output import progress
from lochan.cli.output.records import cell, count_noun, show_line, show_record, show_records, size_cell
from lochan.cli.target import repository_uri
from lochan.cli.verb import verb

if TYPE_CHECKING:
    from lochan.api.lake import Lake
    from lochan.api.recovery import FindingInfo, FsckResult, RebuildPart, RebuildResult, ScrubResult

repositories_argument = click.argument("repositories", nargs=-1, metavar="[REPO...]")


@verb("fsck", "lochan fsck", "lochan fsck demo --data", "lochan fsck --repair")
@repositories_argument
@click.option("--data", is_flag=True, help="Also read all data, and compare it with its SHA-256.")
@click.option("--repair", is_flag=True, help="Make again what can be made from the rest. Nothing is deleted.")
def fsck_command(repositories: tuple[str, ...], data: bool, repair: bool, form: str) -> None:
    """Check every file of the lake, or of some repositories.

    Journals are folded from the first record on, and every file that they name is read and compared. Of data, existence
    and size are checked, unless --data is given. Others may go on writing meanwhile.

    A line for each finding says what it is, where, what it means and what can be done. The exit code is 8 if something
    is damaged and was not repaired.
    """
    from lochan.cli.session import configuration, run
    from lochan.lake_check import fsck

    names = _repository_names(repositories)
    config = configuration()
    with progress.count_progress("fsck", "files listed and read", visible=form != "json") as seen:
        result = run(config, fsck(config, names, data=data, repair=repair, progress=seen))
    if form == "json":
        show_record(result.as_json(), form)
    else:
        _show_findings(result)
    if result.is_damaged:
        click.get_current_context().exit(exit_codes.CORRUPT)


def _show_findings(result: "FsckResult") -> None:
    for each in result.findings:
        click.echo(_finding(each))
    checked = f"checked {count_noun(result.files, 'file')} of {count_noun(result.repositories, 'repository')}"
    checked = checked.replace("repositorys", "repositories")
    found = f"{result.damaged:,} damaged" if result.damaged else "nothing is damaged"
    if result.repaired:
        found += f", {result.repaired:,} repaired"
    click.echo(f"{checked}, {result.events:,} events: {found}")


def _finding(each: "FindingInfo") -> str:
    mark = "damaged" if each.damage else "note"
    many = f" and {each.count - 1:,} more" if each.count > 1 else ""
    size = f" ({size_cell(each.bytes)})" if each.bytes else ""
    lines = [f"{mark}: {each.kind}: {cell(each.path)}{many}{size}"]
    if each.detail:
        lines.append(f"  {cell(each.detail)}")
    lines.append(f"  {each.meaning}")
    lines.append(f"  → {cell(each.repaired)}" if each.repaired else f"  → {each.remedy}")
    return "\n".join(lines)


@verb("rebuild", "lochan rebuild --check", "lochan rebuild demo --missing")
@repositories_argument
@click.option("--check", is_flag=True, help="Only compare. Nothing is written.")
@click.option("--missing", is_flag=True, help="Make only what is missing or damaged; the rest is not compared.")
@click.option("--to", metavar="PATH-OR-URL", default="", help="Write everything that is made there instead.")
@click.option(
    "--engine",
    type=click.Choice(["auto", "embedded", "spark"]),
    default="auto",
    show_default=True,
    help="Where the records of journals are checked: here, by several processes for a long one, or on Spark.",
)
@click.option("--master", metavar="URL", default="", help="Spark's master. Default: as configured.")
def rebuild_command(
    repositories: tuple[str, ...], check: bool, missing: bool, to: str, engine: str, master: str, form: str
) -> None:
    """Make the derived files of the lake again from the primary ones.

    REPO limits it to some repositories. Derived are checkpoints, compacted runs, and the trees of commits, merges,
    reverts, cherry-picks and rebases. They are made from the journal and the files that it names, and get the same
    names. What is missing or damaged is written; a damaged file is moved aside first.

    It stops where a journal breaks off, and lists what cannot be made again. The exit code is 8 then.
    """
    from lochan.cli.session import on_lake

    names = _repository_names(repositories)

    async def work(lake: "Lake") -> "RebuildResult":
        return await lake.rebuild(names, check=check, missing=missing, to=to, engine=engine, master=master)

    made = on_lake(work)
    if form == "json":
        show_records([each.as_json() for each in made.parts], form, columns=())
    else:
        _show_parts(made.parts)
    if not made.is_whole:
        click.get_current_context().exit(exit_codes.CORRUPT)


def _show_parts(parts: tuple["RebuildPart", ...]) -> None:
    rows = [{**each.as_json(), "repository": each.repository or "(the lake)"} for each in parts]
    columns = ("repository", "events", "same", "same_content", "made", "missing", "differs", "lost", "primary")
    show_records(rows, "table", columns=columns)
    for part in parts:
        for file in part.files:
            reason = f": {cell(file.reason)}" if file.reason else ""
            click.echo(f"{file.outcome}: {cell(file.path)}{reason}")


@verb("scrub", "lochan scrub demo --rate 50MB/s")
@repositories_argument
@click.option("--rate", metavar="SIZE/s", default="50MB/s", show_default=True, help="How much to read in a second.")
@click.option(
    "--for", "duration", metavar="TIME", default="", help="How long to read, such as 10m. Default: to the end."
)
def scrub_command(repositories: tuple[str, ...], rate: str, duration: str, form: str) -> None:
    """Read the data of the lake, and compare it with its SHA-256.

    REPO limits it to some repositories. The next scrub goes on where this one ended, also after a kill. After the last
    file a new round begins. What is found is in the log, and in _lake/scrub/. The code is 8 if anything is damaged.
    """
    from lochan.cli.options import seconds
    from lochan.cli.session import on_lake

    names = _repository_names(repositories)
    limit = seconds("--for", duration) if duration else 0.0
    results = on_lake(lambda lake: lake.scrub(names, rate=_rate(rate), seconds=limit))
    for each in results:
        if form == "json":
            show_line(each.as_json())
        else:
            _show_scrub(each)
    if any(each.damaged for each in results):
        click.get_current_context().exit(exit_codes.CORRUPT)


def _show_scrub(result: "ScrubResult") -> None:
    for each in result.damaged:
        click.echo(_finding(each))
    ended = f"round {result.rounds:,} is complete" if result.complete else "the next scrub goes on from here"
    read = f"read {count_noun(result.files, 'file')}, {size_cell(result.bytes)}"
    click.echo(f"{cell(result.repository)}: {read}; {ended}")


def _rate(text: str) -> int:
    from lochan.cli.options import size_bytes

    return size_bytes("--rate", text.removesuffix("/s"))


def _repository_names(repositories: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(repository_uri(name).repository for name in repositories)
