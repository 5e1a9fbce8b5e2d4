"""`lochan merge`: what a ref changed comes to a branch."""

from typing import Any

import click

from lochan.cli.commit_record import SHORT
from lochan.cli.opened import Opened, work_on
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record, size
from lochan.cli.uri import branch_uri, ref_uri
from lochan.errors import Invalid

STRATEGIES = ("default", "source-wins", "dest-wins")


@click.command("merge")
@click.argument("source", metavar="REPO@SOURCE")
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.option("-m", "--message", default="", help="What the merge is to say.")
@click.option(
    "--strategy",
    type=click.Choice(STRATEGIES),
    default="default",
    show_default=True,
    help="What to do where both changed a path: stop, take the source's, or keep the branch's.",
)
@click.option(
    "--strategy-for",
    "strategies",
    multiple=True,
    metavar="PREFIX=STRATEGY",
    help="Another strategy for the paths under a prefix; may be repeated, the longest counts.",
)
@click.option("--squash", is_flag=True, help="One commit, without the source as its parent.")
@click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
@click.option(
    "--commit-staged", metavar="MESSAGE", help="Commit first, with this message, what is staged on the branch."
)
@click.option("--leave-staged", is_flag=True, help="Merge what the source has committed, whatever is staged on it.")
@request_key
@format_option
def command(
    source: str,
    branch: str,
    message: str,
    strategy: str,
    strategies: tuple[str, ...],
    squash: bool,
    dry_run: bool,
    commit_staged: str | None,
    leave_staged: bool,
    form: str,
) -> None:
    """Merge a ref into a branch.

    Where both changed the same path, each is listed (base, ours: the branch's, theirs: the source's), nothing is
    changed, and the exit code is 4.

    \b
    Example:
      lochan merge demo@dev demo@main
    """
    into, from_ = branch_uri(branch), ref_uri(source)
    if into.repository != from_.repository:
        raise Invalid(f"{from_} and {into} are in different repositories", hint="merge within one repository")
    by_prefix = _by_prefix(strategies)

    async def work(opened: Opened) -> dict[str, Any]:
        from lochan.cli.conflicts import conflicts_shown
        from lochan.tree.merge import Strategy
        from lochan.versioning import head_moves
        from lochan.versioning.commit import CommitRequest

        repository, theirs = opened.repository, opened.ref_of(from_)
        decided = Strategy(strategy, by_prefix)
        async with conflicts_shown(form):
            if dry_run:
                trees = await head_moves.rehearse_merge(
                    repository, theirs, opened.ref, strategy=decided, staged_source=leave_staged
                )
                return await _counts(opened, *trees)
            head = await head_moves.merge(
                repository,
                theirs,
                opened.ref,
                head_moves.CommitMessage(message),
                actor=opened.actor,
                strategy=decided,
                squash=squash,
                staged_source=leave_staged,
                commit_first=None if commit_staged is None else CommitRequest(commit_staged),
            )
        return {"head": head}

    made = work_on(into, work)
    if form == "json":
        show_record(made, form)
    elif dry_run:
        click.echo(
            f"would merge {printable(source)} into {printable(branch)}: {made['added']} added, {made['changed']} "
            f"changed, {made['removed']} removed (+{size(made['bytes_added'])}, -{size(made['bytes_removed'])})"
        )
    else:
        click.echo(f"merged {printable(source)} into {printable(branch)}: {made['head'][:SHORT]}")


async def _counts(opened: Opened, before: Any, after: Any) -> dict[str, Any]:
    from dataclasses import asdict

    from lochan.tree.diff import count

    return asdict(await count(opened.repository.trees, before, after))


def _by_prefix(given: tuple[str, ...]) -> dict[str, str]:
    """Raises Invalid for what is no prefix with a strategy, and for a prefix that comes twice."""
    found: dict[str, str] = {}
    for text in given:
        prefix, _, strategy = text.rpartition("=")
        if strategy not in STRATEGIES or not prefix:
            raise Invalid(
                f"--strategy-for {text!r}: a prefix and a strategy are wanted",
                hint=f"such as --strategy-for data/raw/=source-wins; there are {', '.join(STRATEGIES)}",
            )
        if prefix in found:
            raise Invalid(f"--strategy-for {text!r}: {prefix!r} was already given", hint="keep one of the two")
        found[prefix] = strategy
    return found
