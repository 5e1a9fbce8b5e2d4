"""`lochan stash`: puts the staged changes of a branch aside for later."""

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.options import confirm, yes_option
from lochan.cli.output.records import SHORT, all_records, printable, show_answer, show_records
from lochan.cli.target import branch_uri, work_on


@click.group("stash", cls=LazyGroup)
def group() -> None:
    """Put aside what is staged on a branch, and bring it back."""


@group.verb("push", "lochan stash push demo@main", changes=True)
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.option("-m", "--message", default="", help="A description of the stash.")
def push_command(branch: str, message: str, form: str) -> None:
    """Put aside everything that is staged on a branch."""
    uri = branch_uri(branch)
    id = work_on(uri, lambda target: target.branch.stash(message))
    show_answer({"id": id}, form, f"stashed what was staged on {printable(str(uri))} as {id}")


@group.verb("list", "lochan stash list demo")
@click.argument("branch", metavar="REPO[@BRANCH]")
def list_command(branch: str, form: str) -> None:
    """List the stashes of a repository or a branch. The newest comes first."""
    uri = branch_uri(branch)
    records = work_on(uri, lambda target: all_records(target.repository.stashes(uri.ref)), reads=True)
    if form != "json":
        records = [{**each, "head": each["head"][:SHORT]} for each in records]
    show_records(records, form, columns=("id", "branch", "head", "changes", "date", "user", "message"))


@group.verb("pop", "lochan stash pop demo@main", changes=True)
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.argument("stash", required=False, default="")
def pop_command(branch: str, stash: str, form: str) -> None:
    """Stage the changes of a stash on a branch again: of the one named, or of the branch's newest.

    Nothing else may be staged there. If the branch has changed at a stashed path since, it is refused (exit code 4).
    """
    uri = branch_uri(branch)
    id = work_on(uri, lambda target: target.branch.pop_stash(stash)).id
    show_answer({"id": id}, form, f"staged again on {printable(str(uri))} what was stashed as {id}")


@group.verb("drop", "lochan stash drop demo@main", changes=True)
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.argument("stash", required=False, default="")
@yes_option
def drop_command(branch: str, stash: str, yes: bool, form: str) -> None:
    """Drop a stash: the one named, or the branch's newest.

    On a terminal it asks first; a script must give --yes.
    """
    uri = branch_uri(branch)
    if not yes:
        which = f"stash {stash}" if stash else f"the newest stash of {uri}"
        confirm(f"Drop {which}, with all changes in it?", f"{which} was not dropped")

    id = work_on(uri, lambda target: target.branch.drop_stash(stash))
    show_answer({"id": id}, form, f"dropped stash {id}")
