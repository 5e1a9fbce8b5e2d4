"""`lochan gc`: retention times, and the removal of files that nothing names any more."""

from typing import TYPE_CHECKING

import click

from lochan.cli import gc_deleted
from lochan.cli.gc_rules import repository_argument, rules_group, show_drops, show_expired
from lochan.cli.lazy_group import LazyGroup
from lochan.cli.options import engine_options, job_options
from lochan.cli.output.progress import StageBar
from lochan.cli.output.records import count_noun, show_answer, show_record, show_records, size_cell
from lochan.cli.target import Target, repository_uri, work_on

if TYPE_CHECKING:
    from lochan.api.collection import CollectionRun, PlanResult, SweepResult

_SHOWN = 10
_NO_PATH = "(path unknown)"


_STORAGE = {
    "dangling": "lochan.cli.storage:dangling_command",
    "repack": "lochan.cli.storage:repack_command",
}


@click.group("gc", cls=LazyGroup, verbs=_STORAGE)
def group() -> None:
    """Remove what nothing names any more.

    A first plan draws a line. A second one, a grace later, lists what was written before the line and that no branch,
    tag, commit, stash, workspace or upload names. Another grace later the list can be swept. `lochan gc run` does
    whatever is due.
    """


group.add_command(rules_group)
optional_argument = click.argument("repository", metavar="[REPO]", required=False)
deleted_option = click.option(
    "--deleted",
    is_flag=True,
    help="Of repositories and pools that were deleted: all of them, or REPO alone, by its name or id.",
)
grace_option = click.option(
    "--grace",
    "grace_hours",
    type=click.FloatRange(min=0),
    default=24.0,
    show_default=True,
    metavar="HOURS",
    help="How long readers and writers may take to notice a change. The store's clock counts.",
)


@group.verb("plan", "lochan gc plan demo --dry-run")
@optional_argument
@grace_option
@click.option("--dry-run", is_flag=True, help="Only show what nothing names now. This needs no earlier plan.")
@job_options
@deleted_option
def plan_command(
    repository: str | None,
    grace_hours: float,
    dry_run: bool,
    engine: str,
    master: str | None,
    memory: str | None,
    deleted: bool,
    form: str,
) -> None:
    """List the files of a repository that nothing names any more. Nothing is deleted yet.

    With --deleted: the files of repositories that were deleted too long ago. From then on they cannot be restored.
    """
    if deleted:
        gc_deleted.plan(repository, dry_run, form)
        return
    repository = _require_repository(repository)
    options = engine_options(engine, master, memory)

    async def work(target: Target) -> "PlanResult":
        gc = target.repository.gc
        verb = gc.preview if dry_run else gc.plan
        return await verb(grace_hours, options, progress=bar.show)

    with StageBar("gc plan") as bar:
        made = work_on(repository_uri(repository), work)
    _show_plan(made, form)


@group.verb("sweep", "lochan gc sweep demo")
@optional_argument
@grace_option
@click.option("--confirm", "confirmed", is_flag=True, help="Also if more than half of the repository's bytes go.")
@job_options
@deleted_option
def sweep_command(
    repository: str | None,
    grace_hours: float,
    confirmed: bool,
    engine: str,
    master: str | None,
    memory: str | None,
    deleted: bool,
    form: str,
) -> None:
    """Delete the files that the plan lists.

    Everything that is alive is marked once more before. If the sweep is interrupted, run it again. With --deleted, all
    files of deleted repositories go, and --confirm is needed.
    """
    if deleted:
        gc_deleted.sweep(repository, grace_hours, confirmed, form)
        return
    repository = _require_repository(repository)
    options = engine_options(engine, master, memory)

    async def work(target: Target) -> "SweepResult":
        gc = target.repository.gc
        return await gc.sweep(grace_hours, options, confirmed=confirmed, progress=bar.show)

    with StageBar("gc sweep") as bar:
        made = work_on(repository_uri(repository), work)
    text = f"deleted {count_noun(made.files, 'file')}, {size_cell(made.bytes)} (plan {made.plan})"
    show_answer(made.as_json(), form, text)


@group.verb("abandon", "lochan gc abandon demo")
@repository_argument
def abandon_command(repository: str, form: str) -> None:
    """Give up the plan that is under way. A later plan lists its files again."""
    number = work_on(repository_uri(repository), lambda target: target.repository.gc.abandon())
    show_answer({"plan": number}, form, f"abandoned plan {number}")


@group.verb("jobs", "lochan gc jobs demo")
@repository_argument
def jobs_command(repository: str, form: str) -> None:
    """Show the jobs that hold files open.

    Garbage collection spares what they write.
    """
    found = work_on(repository_uri(repository), lambda target: target.repository.gc.held_jobs())
    columns = ("id", "kind", "about", "state", "held_hours", "silent_hours", "dead")
    show_records([each.as_json() for each in found], form, columns=columns)


@group.verb("abandon-jobs", "lochan gc abandon-jobs demo")
@repository_argument
@click.argument("ids", nargs=-1, metavar="[ID...]")
def abandon_jobs_command(repository: str, ids: tuple[str, ...], form: str) -> None:
    """Give up jobs whose process is gone. With ids: those jobs, whatever they do.

    A later plan lists what they wrote. A job that comes back is refused, and has to be run again. `lochan gc run` does
    this too.
    """
    made = work_on(repository_uri(repository), lambda target: target.repository.gc.abandon_jobs(ids))
    text = f"abandoned {count_noun(len(made), 'job')}"
    show_answer({"abandoned": [each.id for each in made]}, form, text)


@group.verb("report", "lochan gc report demo")
@optional_argument
@grace_option
@click.option(
    "--every",
    "every_hours",
    type=click.FloatRange(min=0, min_open=True),
    default=24.0,
    show_default=True,
    metavar="HOURS",
    help="How often `lochan gc run` is called.",
)
@deleted_option
def report_command(repository: str | None, grace_hours: float, every_hours: float, deleted: bool, form: str) -> None:
    """Show where the garbage collection of a repository stands.

    `longest_days` is the longest time from a deletion to its bytes being gone, if `lochan gc run` is called regularly.
    """
    if deleted:
        gc_deleted.report(repository, form)
        return
    repository = _require_repository(repository)
    found = work_on(repository_uri(repository), lambda target: target.repository.gc.status(grace_hours, every_hours))
    record = found.as_json()
    if form != "json" and found.swept is not None:
        record["swept"] = f"{count_noun(found.swept.files, 'file')}, {size_cell(found.swept.bytes)}"
    show_record(record, form)


@group.verb("expire", "lochan gc expire demo")
@repository_argument
def expire_command(repository: str, form: str) -> None:
    """Let expire what the rules no longer keep: old commits and deleted branches, unused address tokens, and uploads,
    workspaces and stashes that are too old."""
    show_expired(work_on(repository_uri(repository), lambda target: target.repository.gc.expire()), form, "expired")


@group.verb("drop", "lochan gc drop demo")
@repository_argument
def drop_command(repository: str, form: str) -> None:
    """Drop what the rules no longer keep on branches.

    Objects that nobody has written or read for too long go by one commit for each branch, which names the rules.
    """
    made = work_on(repository_uri(repository), lambda target: target.repository.gc.drop())
    if form == "json":
        show_records([each.as_json() for each in made], form, columns=("branch", "rule", "objects", "bytes", "commit"))
    else:
        show_drops(made, form, "dropped")


@group.verb("run", "lochan gc run demo", "lochan gc run --deleted --confirm")
@optional_argument
@grace_option
@job_options
@deleted_option
@click.option("--confirm", "confirmed", is_flag=True, help="With --deleted: delete the files of what has expired.")
@click.option("--no-drops", is_flag=True, help="Drop nothing that is live on a branch, whatever the rules say.")
def run_command(
    repository: str | None,
    grace_hours: float,
    engine: str,
    master: str | None,
    memory: str | None,
    deleted: bool,
    confirmed: bool,
    no_drops: bool,
    form: str,
) -> None:
    """Do what is due: sweep the last plan, drop and let expire what the rules say, plan again.

    With --deleted: for repositories and pools that were deleted, and for what killed processes have left in the lake.
    """
    if deleted:
        if repository is not None:
            raise click.UsageError("`gc run --deleted` is for all that was deleted. Leave REPO out.")
        gc_deleted.run(grace_hours, confirmed, form)
        return
    repository, drops = _require_repository(repository), None if no_drops else True
    options = engine_options(engine, master, memory)

    async def work(target: Target) -> "CollectionRun":
        return await target.repository.gc.run(grace_hours, options, drops=drops, progress=bar.show)

    with StageBar("gc") as bar:
        made = work_on(repository_uri(repository), work)
    if form == "json":
        show_record(made.as_json(), form)
        return
    if made.swept is not None:
        click.echo(f"deleted {count_noun(made.swept.files, 'file')}, {size_cell(made.swept.bytes)}")
    if made.dropped:
        show_drops(made.dropped, form, "dropped")
    if made.expired is not None:
        show_expired(made.expired, form, "expired")
    if made.jobs:
        click.echo(f"abandoned {count_noun(made.jobs, 'job')}")
    if made.planned is not None:
        _show_plan(made.planned, form)
    if made.waits:
        click.echo(f"waits: {made.waits}")


def _require_repository(repository: str | None) -> str:
    if repository is None:
        raise click.UsageError("Give a repository, or --deleted.")
    return repository


# --- answers ---------------------------------------------------------------------------------------------------------
def _show_plan(made: "PlanResult", form: str) -> None:
    if form == "json":
        show_record(made.as_json(), form)
        return
    name = f"plan {made.plan}" if made.plan else "dry run"
    files = f"{made.files:,} of {count_noun(made.all_files, 'file')}"
    click.echo(f"{name}: nothing names {files}, {size_cell(made.bytes)} of {size_cell(made.all_bytes)}")
    if made.kinds:
        rows = [{**each.as_json(), "bytes": size_cell(each.bytes)} for each in made.kinds]
        show_records(rows, form, columns=("kind", "files", "bytes"))
        click.echo("")
        rows = [{**each.as_json(), "why": each.means, "bytes": size_cell(each.bytes)} for each in made.reasons]
        show_records(rows, form, columns=("why", "files", "bytes"))
    if made.prefixes:
        click.echo("")
        rows = [
            {"path": _NO_PATH if each.prefix is None else each.prefix or "/", "files": each.files, "bytes": each.bytes}
            for each in made.prefixes[:_SHOWN]
        ]
        show_records(
            [{**row, "bytes": size_cell(row["bytes"])} for row in rows], form, columns=("path", "files", "bytes")
        )
        if len(made.prefixes) > _SHOWN:
            click.echo(f"and {len(made.prefixes) - _SHOWN:,} smaller ones, which -f json shows")
