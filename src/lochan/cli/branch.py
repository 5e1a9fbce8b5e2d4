"""`lochan branch`: branches, and the rules that protect them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.open_ref import OpenRef, work_on
from lochan.cli.options.request_key import request_key
from lochan.cli.output.commits import SHORT, title
from lochan.cli.output.records import format_option, instant, printable, show_record, show_records
from lochan.cli.uri import named_uri, repository_uri

if TYPE_CHECKING:
    from lochan.formats.commit import Commit
    from lochan.formats.guard_events import Protection
    from lochan.versioning.state.branch import Branch


@click.group("branch", cls=LazyGroup)
def group() -> None:
    """Create, list, rename, delete, restore and protect branches."""


@group.command("create")
@click.argument("branch", metavar="REPO@NAME")
@click.option("--from", "source", metavar="REF", help="Where it begins; the default branch unless told.")
@request_key
@format_option
def create_command(branch: str, source: str | None, form: str) -> None:
    """Create a branch. What is staged on the branch that it comes from stays there.

    \b
    Example:
      lochan branch create demo@dev --from main
    """
    uri = named_uri(branch)

    async def work(opened: OpenRef) -> str:
        from lochan.versioning.branching import create_branch

        default = opened.repository.repository.default_branch
        return await create_branch(opened.repository, uri.ref, source or default, actor=opened.actor)

    head = work_on(uri, work)
    if form == "json":
        show_record({"name": uri.ref, "head": head}, form)
    else:
        click.echo(f"created branch {printable(uri.ref)} at {head[:SHORT]}")


@group.command("list")
@click.argument("repository", metavar="REPO")
@format_option
def list_command(repository: str, form: str) -> None:
    """List the branches of REPO, by name.

    \b
    Example:
      lochan branch list demo
    """
    show_branches(repository, form)


def show_branches(repository: str, form: str) -> None:
    async def work(opened: OpenRef) -> list[dict[str, Any]]:
        refs, _ = await opened.repository.refs()
        return [_record(each, refs.commit(each.head), each.name == opened.ref) for each in refs.branches()]

    records = work_on(repository_uri(repository), work)
    if form != "json":
        records = [{**each, "head": each["head"][:SHORT], "message": title(each["message"])} for each in records]
    show_records(records, form, columns=("name", "head", "default", "staged", "date", "message"))


def _record(branch: "Branch", head: "Commit", default: bool) -> dict[str, Any]:
    return {
        "name": branch.name,
        "head": branch.head,
        "default": default,
        "staged": not branch.layers.empty,
        "date": instant(head.date),
        "message": head.message,
    }


@group.command("rename")
@click.argument("branch", metavar="REPO@NAME")
@click.argument("to", metavar="NEW-NAME")
@request_key
@format_option
def rename_command(branch: str, to: str, form: str) -> None:
    """Rename a branch. What is staged on it goes along.

    \b
    Example:
      lochan branch rename demo@dev develop
    """
    uri = named_uri(branch)

    async def work(opened: OpenRef) -> str:
        from lochan.versioning.branching import rename_branch

        default = opened.repository.repository.default_branch
        return await rename_branch(opened.repository, uri.ref, to, default, actor=opened.actor)

    head = work_on(uri, work)
    if form == "json":
        show_record({"name": to, "head": head}, form)
    else:
        click.echo(f"renamed branch {printable(uri.ref)} to {printable(to)} at {head[:SHORT]}")


@group.command("delete")
@click.argument("branch", metavar="REPO@NAME")
@request_key
@format_option
def delete_command(branch: str, form: str) -> None:
    """Delete a branch. `lochan branch restore` brings it back, with what was staged on it.

    \b
    Example:
      lochan branch delete demo@dev
    """
    uri = named_uri(branch)

    async def work(opened: OpenRef) -> None:
        from lochan.versioning.branching import delete_branch

        default = opened.repository.repository.default_branch
        await delete_branch(opened.repository, uri.ref, default, actor=opened.actor)

    work_on(uri, work)
    if form == "json":
        show_record({"deleted": uri.ref}, form)
    else:
        click.echo(f"deleted branch {printable(uri.ref)}")


@group.command("restore")
@click.argument("branch", metavar="REPO@NAME")
@request_key
@format_option
def restore_command(branch: str, form: str) -> None:
    """Bring back a deleted branch: the last of that name, with what was staged on it.

    \b
    Example:
      lochan branch restore demo@dev
    """
    uri = named_uri(branch)

    async def work(opened: OpenRef) -> str:
        from lochan.versioning.branching import restore_branch

        return await restore_branch(opened.repository, uri.ref, actor=opened.actor)

    head = work_on(uri, work)
    if form == "json":
        show_record({"name": uri.ref, "head": head}, form)
    else:
        click.echo(f"restored branch {printable(uri.ref)} at {head[:SHORT]}")


ACTIONS = ("stage", "commit", "rewrite")


@group.command("protect")
@click.argument("repository", metavar="REPO")
@click.argument("pattern")
@click.option(
    "--block",
    "blocked",
    multiple=True,
    type=click.Choice(ACTIONS),
    help="What is blocked; may be repeated. All of it unless told.",
)
@request_key
@format_option
def protect_command(repository: str, pattern: str, blocked: tuple[str, ...], form: str) -> None:
    """Protect branches whose names fit PATTERN. In it * and ? stand for any letters.

    stage: no writes to it; commit: no commits, imports and workspaces' commits; rewrite: no reset to another commit, no
    rebase, no new name, no deletion. Merges, reverts and cherry-picks stay possible.

    \b
    Example:
      lochan branch protect demo 'release-*'
    """

    async def work(opened: OpenRef) -> "tuple[Protection, ...]":
        from lochan.versioning.guarding import protect

        return await protect(opened.repository, pattern, blocked or ACTIONS, actor=opened.actor)

    show_rules(work_on(repository_uri(repository), work), form)


@group.command("unprotect")
@click.argument("repository", metavar="REPO")
@click.argument("pattern")
@request_key
@format_option
def unprotect_command(repository: str, pattern: str, form: str) -> None:
    """Remove the rule of exactly that PATTERN. Those that are left are listed.

    \b
    Example:
      lochan branch unprotect demo 'release-*'
    """

    async def work(opened: OpenRef) -> "tuple[Protection, ...]":
        from lochan.versioning.guarding import unprotect

        return await unprotect(opened.repository, pattern, actor=opened.actor)

    show_rules(work_on(repository_uri(repository), work), form)


@group.command("protection")
@click.argument("repository", metavar="REPO")
@format_option
def protection_command(repository: str, form: str) -> None:
    """List the rules that protect branches of REPO.

    \b
    Example:
      lochan branch protection demo
    """

    async def work(opened: OpenRef) -> "tuple[Protection, ...]":
        from lochan.versioning.guarding import protections

        return await protections(opened.repository)

    show_rules(work_on(repository_uri(repository), work), form)


def show_rules(rules: "Iterable[Protection]", form: str) -> None:
    records = [{"pattern": rule.pattern, "blocked": list(rule.blocked)} for rule in rules]
    if form != "json":
        records = [{**each, "blocked": ", ".join(each["blocked"])} for each in records]
    show_records(records, form, columns=("pattern", "blocked"))
