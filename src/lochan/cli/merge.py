"""`lochan merge`, `rebase`, `cherry-pick` and `revert`: bring the changes of one ref to another."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.output.records import SHORT, count_noun, printable, show_answer, show_record, size
from lochan.cli.target import Target, branch_uri, ref_uri, work_on
from lochan.cli.verb import verb
from lochan.errors import Invalid

if TYPE_CHECKING:
    pass


_parent_option = click.option(
    "--parent",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="If REF is a merge: the number of the parent to compare it with.",
)
_commit_staged_option = click.option(
    "--commit-staged", metavar="MESSAGE", help="First commit what is staged on the branch, with this message."
)
STRATEGIES = ("default", "source-wins", "dest-wins")


@verb("merge", "lochan merge demo@dev demo@main", changes=True)
@click.argument("source", metavar="REPO@SOURCE")
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.option("-m", "--message", default="", help="The message of the merge commit. Default: one that names both.")
@click.option(
    "--strategy",
    type=click.Choice(STRATEGIES),
    default="default",
    show_default=True,
    help="What to do if both changed a path: stop, take the source's, or keep the branch's.",
)
@click.option(
    "--strategy-for",
    "strategies",
    multiple=True,
    metavar="PREFIX=STRATEGY",
    help="Another strategy for paths under PREFIX; may be repeated. The longest prefix wins.",
)
@click.option("--squash", is_flag=True, help="Make a commit that does not have the source as a parent.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option(
    "--commit-staged", metavar="MESSAGE", help="First commit what is staged on the branch, with this message."
)
@click.option("--leave-staged", is_flag=True, help="Ignore what is staged on the source. Default: refuse to merge.")
def merge_command(
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

    If both changed the same path, the conflicts are listed (base, ours for the branch, theirs for the source), nothing
    is changed, and the exit code is 4.
    """
    into, from_ = branch_uri(branch), ref_uri(source)
    if into.repository != from_.repository:
        raise Invalid(f"{from_} and {into} are in different repositories", hint="merge within one repository")
    by_prefix = _parse_strategies(strategies)

    async def work(target: Target) -> dict[str, Any]:
        from lochan.api.options import CommitOptions
        from lochan.cli.output.objects import listing_conflicts

        async with listing_conflicts(form):
            if dry_run:
                counts = await target.branch.try_merge(
                    from_.ref, strategy=strategy, prefixes=by_prefix, leave_staged=leave_staged
                )
                return counts.as_json()
            made = await target.branch.merge(
                from_.ref,
                CommitOptions(message=message),
                strategy=strategy,
                prefixes=by_prefix,
                squash=squash,
                leave_staged=leave_staged,
                commit_staged=commit_staged,
            )
        return {"head": made.id}

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


def _parse_strategies(given: tuple[str, ...]) -> dict[str, str]:
    """Parses strategies by prefix. Raises Invalid if a text is not a prefix with a strategy, and for a prefix that
    comes twice."""
    found: dict[str, str] = {}
    for text in given:
        prefix, _, strategy = text.rpartition("=")
        if strategy not in STRATEGIES or not prefix:
            raise Invalid(
                f"--strategy-for {text!r}: it must be a prefix and a strategy",
                hint=f"such as --strategy-for data/raw/=source-wins; there are {', '.join(STRATEGIES)}",
            )
        if prefix in found:
            raise Invalid(f"--strategy-for {text!r}: {prefix!r} was already given", hint="keep one of the two")
        found[prefix] = strategy
    return found


@verb("rebase", "lochan rebase demo@dev demo@main", changes=True)
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.argument("onto", metavar="REPO@ONTO")
def rebase_command(branch: str, onto: str, form: str) -> None:
    """Replay the commits of a branch on top of another ref. These are the commits that BRANCH has and ONTO does not
    have; BRANCH is moved there.
    """
    one, other = branch_uri(branch), ref_uri(onto)
    if one.repository != other.repository:
        raise Invalid(f"{one} and {other} are in different repositories", hint="a branch stays in its repository")

    async def work(target: Target) -> None:
        from lochan.cli.output.objects import listing_conflicts

        async with listing_conflicts(form):
            done = await target.branch.rebase(other.ref)
        if form == "json":
            show_record(done.as_json(), form)
        else:
            name = one.ref or (await target.repository.show()).default_branch
            dropped = f", {done.dropped} dropped" if done.dropped else ""
            replayed = "" if done.replayed is None else f": {count_noun(done.replayed, 'commit')} replayed{dropped}"
            click.echo(f"rebased {printable(name)}{replayed}: {done.head[:SHORT]}")

    work_on(one, work)


@verb("cherry-pick", "lochan cherry-pick demo@main dev~1", changes=True)
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.argument("ref")
@click.option("-m", "--message", default="", help="The message of the new commit. Default: that of REF.")
@_parent_option
@_commit_staged_option
def cherry_pick_command(branch: str, ref: str, message: str, parent: int, commit_staged: str | None, form: str) -> None:
    """Apply what the commit REF changed to a branch, as a new commit."""
    _replay("picked", "cherry_pick", branch, ref, message, parent, commit_staged, form)


@verb("revert", "lochan revert demo@main main~1", changes=True)
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.argument("ref")
@click.option("-m", "--message", default="", help="The message of the new commit. Default: one that names REF.")
@_parent_option
@_commit_staged_option
def revert_command(branch: str, ref: str, message: str, parent: int, commit_staged: str | None, form: str) -> None:
    """Undo what the commit REF changed, with a new commit."""
    _replay("reverted", "revert", branch, ref, message, parent, commit_staged, form)


def _replay(
    done: str, verb: str, branch: str, ref: str, message: str, parent: int, commit_staged: str | None, form: str
) -> None:
    async def work(target: Target) -> str:
        from lochan.api.options import CommitOptions
        from lochan.cli.output.objects import listing_conflicts

        make = target.branch.revert if verb == "revert" else target.branch.cherry_pick
        async with listing_conflicts(form):
            made = await make(ref, CommitOptions(message=message), parent=parent, commit_staged=commit_staged)
        return made.id

    head = work_on(branch_uri(branch), work)
    show_answer({"head": head}, form, f"{done} {printable(ref)}: {head[:SHORT]}")
