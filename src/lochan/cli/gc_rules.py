"""`lochan gc rules`: how long what is kept."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.output.records import SHORT, counted, show_answer, show_record, show_records, size_cell
from lochan.cli.target import repository_uri, work_on
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.api.collection import ExpireResult, RetentionInfo, RuleDrop

_SHOWN = 10
_AGES = (
    ("uploads", "Abort uploads in parts that nobody has continued for so long."),
    ("workspaces", "Drop workspaces that nobody has touched for so long."),
    ("stashes", "Drop stashes that are older."),
    ("blocks", "List files that nothing names only when they are so old."),
)


@click.group("rules", cls=LazyGroup)
def rules_group() -> None:
    """Say how long what is kept."""


repository_argument = click.argument("repository", metavar="REPO")


def rule_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What rules are given by: these options, or a file."""
    options = [
        click.option(
            "--keep",
            "kept",
            multiple=True,
            metavar="PATTERN=LIMITS",
            help="History of branches that match: 30d, 100 (commits), both as 30d,100, or forever. The first that"
            " matches counts.",
        ),
        click.option(
            "--drop",
            "dropped",
            multiple=True,
            metavar="BRANCH[:PREFIX]=WHEN",
            help="What is live, and goes by a commit: 'unwritten 30d', 'unread 30d' or never; of a pool also"
            " BRANCH[LOW..HIGH] and 'older 90d'. The first that matches counts.",
        ),
        click.option("--hold", "held", multiple=True, metavar="BRANCH", help="Drop nowhere what these branches have."),
        click.option(
            "--undo-days",
            type=click.FloatRange(min=0),
            default=30.0,
            show_default=True,
            help="How long a deleted branch, or a commit that a reset has left, can be brought back.",
        ),
        *(
            click.option(f"--{name}", metavar="AGE", help=f"{text} Such as 7d. By default never.")
            for name, text in _AGES
        ),
        click.option(
            "--readers",
            type=click.Choice(["server", "noted"]),
            default="server",
            show_default=True,
            help="How all reads are known: they go through servers, or every reader notes its reads.",
        ),
        click.option("--file", type=click.Path(dir_okay=False), help="Read all rules from a YAML file instead."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@rules_group.verb("show", "lochan gc rules show demo")
@repository_argument
def show_command(repository: str, form: str) -> None:
    """Show the rules of a repository, in the order in which they decide."""
    found = work_on(repository_uri(repository), lambda target: target.repository.gc.rules())
    if form == "json":
        show_record(found.as_json(), form)
        return
    show_records([each.as_json() for each in found.rules], form, columns=("pattern", "days", "commits", "forever"))
    if found.drops:
        rows = [{"drop": each.name, "rule": each.text} for each in found.drops]
        show_records(rows, form, columns=("drop", "rule"))
    for pattern in found.holds:
        click.echo(f"what {pattern} has is dropped nowhere")
    click.echo(f"a deleted branch can be restored for {found.undo_days:g} days")
    for name, _ in _AGES:
        days = getattr(found, f"{name}_days")
        if days:
            click.echo(f"{name}: {days:g} days")
    if any(each.unread_days for each in found.drops):
        click.echo(f"readers: {found.readers}")


@rules_group.verb(
    "set",
    "lochan gc rules set demo --keep main=forever --keep 'tmp-*=7d' --keep '*=90d,100'",
    "lochan gc rules set demo --drop 'main:tmp/=unwritten 30d' --hold release",
    "lochan gc rules set demo --file rules.yaml",
    changes=True,
)
@repository_argument
@rule_options
def set_command(repository: str, form: str, **given: Any) -> None:
    """Replace the rules of a repository. Branches that no rule matches keep their whole history."""
    rules = _rules(given)
    made = work_on(repository_uri(repository), lambda target: target.repository.gc.set_rules(rules))
    count = len(rules.rules) + len(rules.drops) + len(rules.holds)
    show_answer(made.as_json(), form, f"set {counted(count, 'rule')}")


@rules_group.verb("check", "lochan gc rules check demo --keep '*=90d'", "lochan gc rules check demo --file rules.yaml")
@repository_argument
@rule_options
def check_command(repository: str, form: str, **given: Any) -> None:
    """Show what rules would let expire and drop now, and which rule decides, without setting them. Without rules: those
    that are set."""
    rules = _rules(given) if _is_given(given) else None
    found = work_on(repository_uri(repository), lambda target: target.repository.gc.check_rules(rules))
    if form == "json":
        show_record(found.as_json(), form)
        return
    show_expired(found, form, "would expire")
    show_drops(found.drops, form, "would drop")


def _is_given(given: dict[str, Any]) -> bool:
    names = ("kept", "dropped", "held", "file", *(name for name, _ in _AGES))
    return any(given[name] for name in names)


def _rules(given: dict[str, Any]) -> "RetentionInfo":
    from lochan.api.retention import RetentionInfo, parse_days, parse_drop, parse_keep

    if given["file"]:
        if any(given[name] for name in ("kept", "dropped", "held", *(name for name, _ in _AGES))):
            raise Invalid("rules are given by options and by a file", hint="put all of them into the file")
        from lochan.api.retention_file import read_rules

        return read_rules(given["file"])
    ages = {f"{name}_days": parse_days(given[name]) for name, _ in _AGES if given[name]}
    return RetentionInfo(
        rules=tuple(map(parse_keep, given["kept"])),
        undo_days=given["undo_days"],
        drops=tuple(map(parse_drop, given["dropped"])),
        holds=given["held"],
        readers=given["readers"],
        **ages,
    )


# --- answers ---------------------------------------------------------------------------------------------------------
def show_expired(found: "ExpireResult", form: str, verb: str) -> None:
    if form == "json":
        show_record(found.as_json(), form)
        return
    branches = f"{len(found.branches):,} deleted branch{'' if len(found.branches) == 1 else 'es'}"
    more = (
        f", {counted(len(found.uploads), 'upload')}" if found.uploads else "",
        f", {counted(len(found.workspaces), 'workspace')}" if found.workspaces else "",
        f", {len(found.stashes):,} stash{'' if len(found.stashes) == 1 else 'es'}" if found.stashes else "",
    )
    tokens = counted(found.tokens, "address token")
    click.echo(f"{verb}: {counted(len(found.commits), 'commit')}, {branches}, {tokens}{''.join(more)}")
    for id in found.commits[:_SHOWN]:
        click.echo(f"  {id[:SHORT]}")
    if len(found.commits) > _SHOWN:
        click.echo(f"  and {len(found.commits) - _SHOWN:,} more")


def show_drops(drops: "Sequence[RuleDrop]", form: str, verb: str) -> None:
    """By branch, in the order in which the rules decide."""
    for each in drops:
        amount = f"{counted(each.rows, 'row')}" if each.rows else f"{counted(each.objects, 'object')}"
        size = f", {size_cell(each.bytes)}" if each.bytes else ""
        click.echo(f"{verb} from {each.branch}: {amount}{size} by {each.rule}")
        if each.held:
            click.echo(f"  {counted(each.held, 'object')} more, but a held branch has their paths")
        if each.staged:
            click.echo(f"  {counted(each.staged, 'object')} more, but their paths have staged changes")
        if each.waits:
            click.echo(f"  waits: {each.waits}")
        for path in each.examples[:_SHOWN]:
            click.echo(f"  {path}")
        if each.objects > _SHOWN and each.examples:
            click.echo(f"  and {each.objects - _SHOWN:,} more")
        if each.commit:
            click.echo(f"  commit {each.commit[:SHORT]}")
