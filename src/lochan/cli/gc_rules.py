"""`lochan gc rules`: the rules of retention."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.output.records import SHORT, count_noun, show_answer, show_record, show_records, size_cell
from lochan.cli.target import repository_uri, work_on
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.api.collection import ExpireResult, RetentionInfo, RuleDrop

_SHOWN = 10
_AGES = (
    ("uploads", "Abort uploads in parts that nobody has continued for so long. Such as 7d. By default never."),
    ("workspaces", "Drop workspaces that nobody has touched for so long. Such as 7d. By default never."),
    ("stashes", "Drop stashes that are older. Such as 7d. By default never."),
    ("blocks", "List files that nothing names only when they are so old. Such as 7d. By default at once."),
)


@click.group("rules", cls=LazyGroup)
def rules_group() -> None:
    """Say how long what is kept."""


repository_argument = click.argument("repository", metavar="REPO")


def rule_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that set rules: the single rules, or a file."""
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
        *(click.option(f"--{name}", metavar="AGE", help=text) for name, text in _AGES),
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


lake_or_repository = click.argument("repository", metavar="[REPO]", required=False)
_SOURCES = {"lake": "these are the lake's default rules", "": "no rules are set: everything is kept"}


@rules_group.verb("show", "lochan gc rules show demo", "lochan gc rules show")
@lake_or_repository
def show_command(repository: str | None, form: str) -> None:
    """Show the rules of a repository, in the order in which they decide, and where they come from. Without a
    repository: the lake's default rules."""
    found = _find_rules(repository)
    if form == "json":
        show_record(found.as_json(), form)
        return
    if found.source in _SOURCES:
        click.echo(_SOURCES[found.source])
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
    "lochan gc rules set --keep '*=90d'",
    "lochan gc rules set demo --default",
    changes=True,
)
@lake_or_repository
@click.option("--default", is_flag=True, help="Give up the repository's own rules, and follow the lake's.")
@rule_options
def set_command(repository: str | None, default: bool, form: str, **given: Any) -> None:
    """Replace the rules of a repository. Branches that no rule matches keep their whole history.

    Without a repository, replace the lake's default rules: repositories without rules of their own follow them.
    """
    if default and (repository is None or _is_given(given)):
        raise Invalid(
            "--default is about a repository that follows the lake's rules",
            hint="leave out the other rules and name the repository; without one, rules are the lake's default",
        )
    rules = None if default else _rules(given)
    made = _set(repository, rules)
    count = count_noun(len(made.rules) + len(made.drops) + len(made.holds), "rule")
    texts = f"{repository} follows the lake's default: {count}", f"set {count} as the lake's default", f"set {count}"
    show_answer(made.as_json(), form, texts[0 if default else 1 if repository is None else 2])
    _warn(made, form)


def _find_rules(repository: str | None) -> "RetentionInfo":
    if repository is not None:
        return work_on(repository_uri(repository), lambda target: target.repository.gc.rules())
    from lochan.cli.session import on_lake

    return on_lake(lambda lake: lake.default_rules())


def _set(repository: str | None, rules: "RetentionInfo | None") -> "RetentionInfo":
    if repository is not None:
        return work_on(repository_uri(repository), lambda target: target.repository.gc.set_rules(rules))
    from lochan.cli.session import on_lake

    assert rules is not None
    return on_lake(lambda lake: lake.set_default_rules(rules))


def _warn(rules: "RetentionInfo", form: str) -> None:
    from lochan.api.retention import stored_rules, warnings_of

    for warning in warnings_of(stored_rules(rules)) if form != "json" else ():
        click.echo(f"note: {warning}")


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
    if found.source == "lake":
        click.echo("by the lake's default rules:")
    show_expired(found, form, "would expire")
    show_drops(found.drops, form, "would drop")
    for warning in found.warnings:
        click.echo(f"note: {warning}")


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
    ages: dict[str, Any] = {f"{name}_days": parse_days(given[name]) for name, _ in _AGES if given[name]}
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
        f", {count_noun(len(found.uploads), 'upload')}" if found.uploads else "",
        f", {count_noun(len(found.workspaces), 'workspace')}" if found.workspaces else "",
        f", {len(found.stashes):,} stash{'' if len(found.stashes) == 1 else 'es'}" if found.stashes else "",
    )
    tokens = count_noun(found.tokens, "address token")
    click.echo(f"{verb}: {count_noun(len(found.commits), 'commit')}, {branches}, {tokens}{''.join(more)}")
    for id in found.commits[:_SHOWN]:
        click.echo(f"  {id[:SHORT]}")
    if len(found.commits) > _SHOWN:
        click.echo(f"  and {len(found.commits) - _SHOWN:,} more")


def show_drops(drops: "Sequence[RuleDrop]", form: str, verb: str) -> None:
    """Prints drops by branch, in the order in which the rules decide."""
    for each in drops:
        amount = f"{count_noun(each.rows, 'row')}" if each.rows else f"{count_noun(each.objects, 'object')}"
        size = f", {size_cell(each.bytes)}" if each.bytes else ""
        click.echo(f"{verb} from {each.branch}: {amount}{size} by {each.rule}")
        if each.held:
            click.echo(f"  {count_noun(each.held, 'object')} more, but a held branch has their paths")
        if each.staged:
            click.echo(f"  {count_noun(each.staged, 'object')} more, but their paths have staged changes")
        if each.waits:
            click.echo(f"  waits: {each.waits}")
        for path in each.examples[:_SHOWN]:
            click.echo(f"  {path}")
        if each.objects > _SHOWN and each.examples:
            click.echo(f"  and {each.objects - _SHOWN:,} more")
        if each.commit:
            click.echo(f"  commit {each.commit[:SHORT]}")
