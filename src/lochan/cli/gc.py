"""`lochan gc`: how long what is kept, and the removal of what nothing names any more."""

import re
from typing import TYPE_CHECKING, Any

import click

from lochan.cli import gc_deleted
from lochan.cli.lazy_group import LazyGroup
from lochan.cli.options import JobOptions, job_options
from lochan.cli.output.progress import StageBar
from lochan.cli.output.records import SHORT, counted, show_answer, show_record, show_records, size_cell
from lochan.cli.target import Target, repository_uri, work_on
from lochan.errors import Invalid
from lochan.without_pandas import without_pandas

if TYPE_CHECKING:
    from lochan.api.collection import CollectionRun, ExpireResult, KeepRule, PlanResult, SweepResult
    from lochan.api.options import EngineOptions

_SHOWN = 10
_NO_PATH = "(path unknown)"
_DAYS, _COMMITS = re.compile(r"(\d+(?:\.\d+)?)d"), re.compile(r"\d+")


@click.group("gc", cls=LazyGroup)
def group() -> None:
    """Remove what nothing names any more.

    A first plan draws a line. A second one, a grace later, lists what was written before the line and that no branch,
    tag, commit, stash, workspace or upload names. Another grace later the list can be swept. `lochan gc run` does
    whatever is due.
    """


repository_argument = click.argument("repository", metavar="REPO")
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
    repository = _needed(repository)
    options = _engine(engine, master, memory)

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
    repository = _needed(repository)
    options = _engine(engine, master, memory)

    async def work(target: Target) -> "SweepResult":
        gc = target.repository.gc
        return await gc.sweep(grace_hours, options, confirmed=confirmed, progress=bar.show)

    with StageBar("gc sweep") as bar:
        made = work_on(repository_uri(repository), work)
    text = f"deleted {counted(made.files, 'file')}, {size_cell(made.bytes)} (plan {made.plan})"
    show_answer(made.as_json(), form, text)


@group.verb("abandon", "lochan gc abandon demo")
@repository_argument
def abandon_command(repository: str, form: str) -> None:
    """Give up the plan that is under way. A later plan lists its files again."""
    number = work_on(repository_uri(repository), lambda target: target.repository.gc.abandon())
    show_answer({"plan": number}, form, f"abandoned plan {number}")


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
    repository = _needed(repository)
    found = work_on(repository_uri(repository), lambda target: target.repository.gc.status(grace_hours, every_hours))
    record = found.as_json()
    if form != "json" and found.swept is not None:
        record["swept"] = f"{counted(found.swept.files, 'file')}, {size_cell(found.swept.bytes)}"
    show_record(record, form)


@group.verb("expire", "lochan gc expire demo")
@repository_argument
def expire_command(repository: str, form: str) -> None:
    """Let expire what the rules no longer keep: old commits, deleted branches, unused address tokens."""
    _show_expired(work_on(repository_uri(repository), lambda target: target.repository.gc.expire()), form, "expired")


@group.verb("run", "lochan gc run demo", "lochan gc run --deleted --confirm")
@optional_argument
@grace_option
@job_options
@deleted_option
@click.option("--confirm", "confirmed", is_flag=True, help="With --deleted: delete the files of what has expired.")
def run_command(
    repository: str | None,
    grace_hours: float,
    engine: str,
    master: str | None,
    memory: str | None,
    deleted: bool,
    confirmed: bool,
    form: str,
) -> None:
    """Do what is due: sweep the last plan, let commits expire, plan again.

    With --deleted: for repositories and pools that were deleted, and for what killed processes have left in the lake.
    """
    if deleted:
        if repository is not None:
            raise click.UsageError("`gc run --deleted` is for all that was deleted. Leave REPO out.")
        gc_deleted.run(grace_hours, confirmed, form)
        return
    repository = _needed(repository)
    options = _engine(engine, master, memory)

    async def work(target: Target) -> "CollectionRun":
        return await target.repository.gc.run(grace_hours, options, progress=bar.show)

    with StageBar("gc") as bar:
        made = work_on(repository_uri(repository), work)
    if form == "json":
        show_record(made.as_json(), form)
        return
    if made.swept is not None:
        click.echo(f"deleted {counted(made.swept.files, 'file')}, {size_cell(made.swept.bytes)}")
    if made.expired is not None:
        _show_expired(made.expired, form, "expired")
    if made.planned is not None:
        _show_plan(made.planned, form)
    if made.waits:
        click.echo(f"waits: {made.waits}")


def _needed(repository: str | None) -> str:
    if repository is None:
        raise click.UsageError("Give a repository, or --deleted.")
    return repository


# --- rules -----------------------------------------------------------------------------------------------------------
@click.group("rules", cls=LazyGroup)
def rules_group() -> None:
    """Say how long commits are kept."""


group.add_command(rules_group)
keep_option = click.option(
    "--keep",
    "kept",
    multiple=True,
    metavar="PATTERN=LIMITS",
    help="For branches that match: 30d, 100 (commits), both as 30d,100, or forever. The first that matches counts.",
)
undo_option = click.option(
    "--undo-days",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    help="How long a deleted branch, or a commit that a reset has left, can be brought back.",
)


@rules_group.verb("show", "lochan gc rules show demo")
@repository_argument
def show_command(repository: str, form: str) -> None:
    """Show the rules of a repository."""
    found = work_on(repository_uri(repository), lambda target: target.repository.gc.rules())
    if form == "json":
        show_record(found.as_json(), form)
        return
    show_records([each.as_json() for each in found.rules], form, columns=("pattern", "days", "commits", "forever"))
    click.echo(f"a deleted branch can be restored for {found.undo_days:g} days")


@rules_group.verb(
    "set", "lochan gc rules set demo --keep main=forever --keep 'tmp-*=7d' --keep '*=90d,100'", changes=True
)
@repository_argument
@keep_option
@undo_option
def set_command(repository: str, kept: tuple[str, ...], undo_days: float, form: str) -> None:
    """Replace the rules of a repository. Branches that no rule matches keep their whole history."""
    rules = [_rule(each) for each in kept]
    made = work_on(repository_uri(repository), lambda target: target.repository.gc.set_rules(rules, undo_days))
    show_answer(made.as_json(), form, f"set {counted(len(rules), 'rule')}")


@rules_group.verb("check", "lochan gc rules check demo --keep '*=90d'")
@repository_argument
@keep_option
@undo_option
def check_command(repository: str, kept: tuple[str, ...], undo_days: float, form: str) -> None:
    """Show what rules would let expire now, without setting them. Without --keep: the rules that are set."""
    rules = [_rule(each) for each in kept] or None
    found = work_on(repository_uri(repository), lambda target: target.repository.gc.check_rules(rules, undo_days))
    _show_expired(found, form, "would expire")


def _rule(text: str) -> "KeepRule":
    from lochan.api.collection import KeepRule

    pattern, _, limits = text.rpartition("=")
    values: dict[str, Any] = {}
    for limit in limits.split(","):
        if limit == "forever":
            values["forever"] = True
        elif days := _DAYS.fullmatch(limit):
            values["days"] = float(days[1])
        elif _COMMITS.fullmatch(limit):
            values["commits"] = int(limit)
        else:
            raise Invalid(f"{text!r} is not a rule", hint="such as main=forever, 'tmp-*=7d', '*=90d,100'")
    return KeepRule(pattern=pattern, **values)


def _engine(engine: str, master: str | None, memory: str | None) -> "EngineOptions":
    if engine == "duckdb":
        without_pandas()
    return JobOptions(engine, master, memory).parsed()


# --- answers ---------------------------------------------------------------------------------------------------------
def _show_plan(made: "PlanResult", form: str) -> None:
    if form == "json":
        show_record(made.as_json(), form)
        return
    name = f"plan {made.plan}" if made.plan else "dry run"
    files = f"{made.files:,} of {counted(made.all_files, 'file')}"
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


def _show_expired(found: "ExpireResult", form: str, verb: str) -> None:
    if form == "json":
        show_record(found.as_json(), form)
        return
    branches = f"{len(found.branches):,} deleted branch{'' if len(found.branches) == 1 else 'es'}"
    click.echo(f"{verb}: {counted(len(found.commits), 'commit')}, {branches}, {counted(found.tokens, 'address token')}")
    for id in found.commits[:_SHOWN]:
        click.echo(f"  {id[:SHORT]}")
    if len(found.commits) > _SHOWN:
        click.echo(f"  and {len(found.commits) - _SHOWN:,} more")
