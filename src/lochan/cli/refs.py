"""`lochan branch`: branches, and the rules that protect them. `lochan tag`: names for commits that do not move."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.output.records import SHORT, all_records, count_noun, printable, show_answer, show_records, title
from lochan.cli.target import named_uri, repository_uri, work_on

if TYPE_CHECKING:
    from lochan.api.results import ProtectionRule
    from lochan.cli.target import Target


@click.group("branch", cls=LazyGroup)
def branches() -> None:
    """Create, list, rename, delete, restore and protect branches."""


@branches.verb("create", "lochan branch create demo@dev --from main", changes=True)
@click.argument("branch", metavar="REPO@NAME")
@click.option("--from", "source", metavar="REF", help="The ref that it starts at. Default: the default branch.")
@click.option("--hidden", is_flag=True, help="Leave it out of lists of branches.")
def create_command(branch: str, source: str | None, hidden: bool, form: str) -> None:
    """Create a branch. Changes that are staged on its source stay there."""
    uri = named_uri(branch)
    head = work_on(uri, lambda target: target.repository.create_branch(uri.ref, source or "", hidden=hidden)).made_at
    show_answer({"name": uri.ref, "head": head}, form, f"created branch {printable(uri.ref)} at {head[:SHORT]}")


@branches.verb("list", "lochan branch list demo")
@click.argument("repository", metavar="REPO")
@click.option("--hidden", "show_hidden", is_flag=True, help="List hidden branches too.")
def list_command(repository: str, show_hidden: bool, form: str) -> None:
    """List the branches of REPO, by name."""
    show_branches(repository, form, show_hidden)


def show_branches(repository: str, form: str, show_hidden: bool = False) -> None:
    def work(target: "Target") -> Any:
        return all_records(target.repository.branches(show_hidden=show_hidden))

    records = work_on(repository_uri(repository), work, reads=True)
    if form != "json":
        records = [{**each, "head": each["head"][:SHORT], "message": title(each["message"])} for each in records]
    show_records(records, form, columns=("name", "head", "default", "staged", "date", "message"))


@branches.verb("rename", "lochan branch rename demo@dev develop", changes=True)
@click.argument("branch", metavar="REPO@NAME")
@click.argument("to", metavar="NEW-NAME")
def rename_command(branch: str, to: str, form: str) -> None:
    """Rename a branch. Its staged changes go along."""
    uri = named_uri(branch)
    head = work_on(uri, lambda target: target.branch.rename(to)).made_at
    show_answer(
        {"name": to, "head": head}, form, f"renamed branch {printable(uri.ref)} to {printable(to)} at {head[:SHORT]}"
    )


@branches.verb("delete", "lochan branch delete demo@dev", changes=True)
@click.argument("branch", metavar="REPO@NAME")
def delete_command(branch: str, form: str) -> None:
    """Delete a branch. `lochan branch restore` brings it back, with its staged changes."""
    uri = named_uri(branch)
    work_on(uri, lambda target: target.repository.delete_branch(uri.ref))
    show_answer({"deleted": uri.ref}, form, f"deleted branch {printable(uri.ref)}")


@branches.verb("restore", "lochan branch restore demo@dev", changes=True)
@click.argument("branch", metavar="REPO@NAME")
def restore_command(branch: str, form: str) -> None:
    """Restore a deleted branch: the last of that name, with its staged changes."""
    uri = named_uri(branch)
    head = work_on(uri, lambda target: target.repository.restore_branch(uri.ref)).made_at
    show_answer({"name": uri.ref, "head": head}, form, f"restored branch {printable(uri.ref)} at {head[:SHORT]}")


ACTIONS = ("stage", "commit", "revert", "merge", "rewrite")


@branches.verb("protect", "lochan branch protect demo 'release-*'", changes=True)
@click.argument("repository", metavar="REPO")
@click.argument("pattern")
@click.option(
    "--block",
    "blocked",
    multiple=True,
    type=click.Choice(ACTIONS),
    help="What to block; may be repeated. Default: all but merge.",
)
@click.option("--merger", "mergers", multiple=True, metavar="USER", help="Only these users may merge; may be repeated.")
@click.option("--linear", is_flag=True, help="Refuse commits with two parents.")
@click.option("--pull", is_flag=True, help="Take changes by pull requests only.")
@click.option("--approvals", type=click.IntRange(min=0), default=0, metavar="N", help="Pull requests need N approvals.")
@click.option("--check", "checks", multiple=True, metavar="NAME", help="Pull requests need this check; repeat it.")
@click.option("--keep-stale", is_flag=True, help="Approvals count for later commits too.")
def protect_command(
    repository: str,
    pattern: str,
    blocked: tuple[str, ...],
    mergers: tuple[str, ...],
    linear: bool,
    pull: bool,
    approvals: int,
    checks: tuple[str, ...],
    keep_stale: bool,
    form: str,
) -> None:
    """Protect branches whose names match PATTERN. In it, * and ? stand for any characters.

    A rule blocks stage (writes), commit (commits, imports, loads and commits of workspaces), revert (reverts and
    cherry-picks), merge (merges) or rewrite (resets to another commit, rebases, renames and deletion). Without --block,
    merges alone stay possible.

    With --pull, --approvals or --check the branches change by merged pull requests alone: everything but merge is
    blocked.
    """
    actions = blocked or tuple(each for each in ACTIONS if each != "merge")
    rules = work_on(
        repository_uri(repository),
        lambda target: target.repository.protect(
            pattern,
            actions,
            mergers=mergers,
            linear=linear,
            pull=pull,
            approvals=approvals,
            checks=checks,
            keep_stale=keep_stale,
        ),
    )
    show_rules(rules, form)


@branches.verb("unprotect", "lochan branch unprotect demo 'release-*'", changes=True)
@click.argument("repository", metavar="REPO")
@click.argument("pattern")
def unprotect_command(repository: str, pattern: str, form: str) -> None:
    """Remove the rule for exactly this PATTERN. The rules that are left are listed."""
    show_rules(work_on(repository_uri(repository), lambda target: target.repository.unprotect(pattern)), form)


@branches.verb("protection", "lochan branch protection demo")
@click.argument("repository", metavar="REPO")
def protection_command(repository: str, form: str) -> None:
    """List the rules that protect branches of REPO."""
    show_rules(work_on(repository_uri(repository), lambda target: target.repository.protections(), reads=True), form)


def show_rules(rules: "Iterable[ProtectionRule]", form: str) -> None:
    records = [rule.as_json() for rule in rules]
    if form != "json":
        records = [{**each, "blocked": ", ".join(each["blocked"]), "more": _more(each)} for each in records]
    shown = ("pattern", "blocked", "more") if any(each.get("more") for each in records) else ("pattern", "blocked")
    show_records(records, form, columns=shown)


def _more(rule: dict[str, Any]) -> str:
    """Returns the requirements of a rule, beside what it blocks."""
    mergers = f"merged by {', '.join(rule['mergers'])}" if rule["mergers"] else ""
    needs = [count_noun(rule["approvals"], "approval")] if rule["approvals"] else []
    needs += [f"check {name}" for name in rule["checks"]] + (["stale approvals count"] if rule["keep_stale"] else [])
    pull = " with ".join(["pull requests", ", ".join(needs)] if needs else ["pull requests"]) if rule["pull"] else ""
    return "; ".join(each for each in (mergers, "linear" if rule["linear"] else "", pull) if each)


@click.group("tag", cls=LazyGroup)
def tags() -> None:
    """Create, list and delete tags."""


@tags.verb("create", "lochan tag create demo@v1 --from main", changes=True)
@click.argument("tag", metavar="REPO@NAME")
@click.option(
    "--from", "source", metavar="REF", help="The commit that it names. Default: the head of the default branch."
)
def create_tag_command(tag: str, source: str | None, form: str) -> None:
    """Create a tag: a name for a commit that does not move."""
    uri = named_uri(tag)
    commit = work_on(uri, lambda target: target.repository.create_tag(uri.ref, source or "")).made_at
    show_answer({"name": uri.ref, "commit": commit}, form, f"created tag {printable(uri.ref)} at {commit[:SHORT]}")


@tags.verb("list", "lochan tag list demo")
@click.argument("repository", metavar="REPO")
def list_tags_command(repository: str, form: str) -> None:
    """List the tags of REPO, by name."""
    records = work_on(repository_uri(repository), lambda target: all_records(target.repository.tags()), reads=True)
    if form != "json":
        records = [{**each, "commit": each["commit"][:SHORT], "message": title(each["message"])} for each in records]
    show_records(records, form, columns=("name", "commit", "date", "message"))


@tags.verb("delete", "lochan tag delete demo@v1", changes=True)
@click.argument("tag", metavar="REPO@NAME")
def delete_tag_command(tag: str, form: str) -> None:
    """Delete a tag."""
    uri = named_uri(tag)
    work_on(uri, lambda target: target.repository.delete_tag(uri.ref))
    show_answer({"deleted": uri.ref}, form, f"deleted tag {printable(uri.ref)}")
