"""What `lochan revert` and `lochan cherry-pick` have in common: one commit is named, and one is made on a branch."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Protocol

import click

from lochan.cli.commit_record import SHORT
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import printable, show_record
from lochan.cli.uri import branch_uri

if TYPE_CHECKING:
    from lochan.formats.record import Actor
    from lochan.versioning.commit import CommitRequest
    from lochan.versioning.head_moves import CommitMessage
    from lochan.versioning.open_repository import OpenRepository

parent_option = click.option(
    "--parent", type=click.IntRange(min=1), default=1, metavar="N", help="Of a merge: against which parent."
)
commit_staged_option = click.option(
    "--commit-staged", metavar="MESSAGE", help="Commit first, with this message, what is staged on the branch."
)


class Made(Protocol):
    def __call__(
        self,
        repository: "OpenRepository",
        branch: str,
        ref: str,
        said: "CommitMessage" = ...,
        *,
        actor: "Actor",
        parent: int = ...,
        commit_first: "CommitRequest | None" = ...,
    ) -> Awaitable[str]: ...


def make_commit(
    done: str, verb: str, branch: str, ref: str, message: str, parent: int, commit_staged: str | None, form: str
) -> None:
    async def work(opened: Opened) -> str:
        from lochan.cli.conflicts import conflicts_shown
        from lochan.versioning import head_moves
        from lochan.versioning.commit import CommitRequest

        make: Made = getattr(head_moves, verb)
        first = None if commit_staged is None else CommitRequest(commit_staged)
        async with conflicts_shown(form):
            return await make(
                opened.repository,
                opened.ref,
                ref,
                head_moves.CommitMessage(message),
                actor=opened.actor,
                parent=parent,
                commit_first=first,
            )

    head = work_on(branch_uri(branch), work)
    if form == "json":
        show_record({"head": head}, form)
    else:
        click.echo(f"{done} {printable(ref)}: {head[:SHORT]}")
