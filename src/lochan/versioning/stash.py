"""Stashes: staged changes of a branch are set aside, and restored later, on the same branch or another one (S9)."""

from collections.abc import Sequence

from lochan.errors import ConcurrentCommit, NotFound, PathsInTheWay, RaceLost
from lochan.failpoints import fp
from lochan.formats.events import Event
from lochan.formats.record import Actor
from lochan.formats.repository_events import Popped, StashDropped, Stashed
from lochan.journal.keys import CarriedOut
from lochan.staging.layers import EMPTY
from lochan.versioning.heads.moves import changed_paths
from lochan.versioning.idempotency import once, same
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.branch import Stash, dirty
from lochan.versioning.state.refs import Refs

_LISTED = 1_000
_TRIES = 10


@once(same)
async def push(repository: OpenRepository, branch: str, message: str = "", *, actor: Actor) -> str:
    """Moves everything that is staged when the event is appended to a stash. Returns the stash's id. Raises
    NothingToDo."""
    id: str = await repository.submit(actor, Stashed(branch, message))
    fp("stash.pushed")
    return id


async def _earlier_pop(repository: OpenRepository, before: CarriedOut) -> Stash:
    """Returns the stash with nothing but its id, because only that is kept of a popped stash."""
    return Stash(before.result, "", "", EMPTY, "", "", 0)


@once(_earlier_pop)
async def pop(repository: OpenRepository, branch: str, stash: str = "", *, actor: Actor) -> Stash:
    """Restores a stash, by default the newest of the branch, onto a branch with nothing staged. Raises Dirty, and
    PathsInTheWay if the branch has changed a stashed path since the stash was made."""
    for _ in range(_TRIES):
        refs, _ = await repository.refs()
        found, one = refs.branch(branch), _find(refs, branch, stash)
        if not found.layers.empty:
            raise dirty(branch)
        await _check_paths(repository, refs, found.head, one, branch)
        fp("stash.checked")
        try:
            await repository.submit(actor, Popped(branch, one.id, found.head))
        except ConcurrentCommit:
            continue  # the head has moved, so the paths are checked again
        fp("stash.popped")
        repository.staged(branch)
        return one
    raise RaceLost(f"branch {branch!r} was moved {_TRIES} times meanwhile", hint="try again")


@once(same)
async def drop(repository: OpenRepository, branch: str, stash: str = "", *, actor: Actor) -> str:
    """Drops a stash. Its content is gone for good."""
    dropped = ""

    def decide(refs: Refs) -> Sequence[Event]:
        nonlocal dropped
        dropped = _find(refs, branch, stash).id
        return [StashDropped(dropped)]

    await repository.submit_decided(actor, decide)
    return dropped


async def list_stashes(repository: OpenRepository, branch: str = "") -> list[Stash]:
    refs, _ = await repository.refs()
    return refs.stashes.all(branch)


def _find(refs: Refs, branch: str, stash: str) -> Stash:
    if stash:
        return refs.stashes.get(stash)
    kept = refs.stashes.all(branch)
    if not kept:
        raise NotFound(f"nothing was stashed on branch {branch!r}", hint="`lochan stash list REPO` shows all stashes")
    return kept[0]


async def _check_paths(repository: OpenRepository, refs: Refs, head: str, stash: Stash, branch: str) -> None:
    """Raises PathsInTheWay if the head has changed a stashed path since the push."""
    if head == stash.head:
        return
    before, now = refs.commit(stash.head), refs.commit(head)
    changed = await changed_paths(repository, await repository.tree(before), await repository.tree(now))
    hit = await (await repository.view_of(before, stash.layers)).paths_staged(changed)
    if len(hit):
        raise PathsInTheWay(
            f"{len(hit)} of the stashed paths were changed on branch {branch!r} since",
            paths=hit.slice(0, _LISTED).to_pylist(),
            count=len(hit),
            hint="pop the stash on a branch made from where it was pushed, and merge that",
        )
