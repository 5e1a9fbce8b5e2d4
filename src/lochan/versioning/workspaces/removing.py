"""Files of a workspace deleted by us, and so that no commit of it names one that is gone.

    opened (held) ──▶ delete ──▶ what is staged instead, and abandoned (no longer held)

While anything is held, the workspace cannot be committed; the event behind it is the workspace's last, so that a commit
that had listed the files before lists anew (S8). Whoever is killed in between holds up a commit for a minute at most.
"""

from collections.abc import Sequence
from contextlib import suppress

from lochan.errors import LochanError
from lochan.failpoints import fp
from lochan.formats.collection_events import Abandoned, Opened
from lochan.formats.events import Event
from lochan.formats.record import Actor
from lochan.formats.workspace_events import WorkspaceStaged
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.refs import Refs
from lochan.versioning.state.collection import REMOVAL, Held
from lochan.versioning.state.workspaces import Workspace
from lochan.versioning.workspaces.several import several

_EXPIRES_S = 60.0
_BATCH = 1_000  # files that are deleted under one hold: seconds, not a minute
_WIDTH = 16
_POLL_S = 0.05


async def remove(
    repository: OpenRepository, workspace: Workspace, addresses: Sequence[str], then: Sequence[Event], *, actor: Actor
) -> None:
    """The files go, and `then` the events are appended. Raises Refused if the workspace is closed."""
    for start in range(0, len(addresses), _BATCH):
        batch = addresses[start : start + _BATCH]
        last = start + len(batch) == len(addresses)
        await _remove(repository, workspace, batch, then if last and then else [WorkspaceStaged(workspace.id)], actor)
    if not addresses and then:
        await repository.submit(actor, *then)


async def _remove(
    repository: OpenRepository, workspace: Workspace, addresses: Sequence[str], then: Sequence[Event], actor: Actor
) -> None:
    now = repository.clock.wall()
    held = repository.ids.ksuid(now)
    root = repository.folder(workspace.id).root

    def decide(refs: Refs) -> Sequence[Event]:
        refs.workspaces.get(workspace.id)
        return [Opened(held, REMOVAL, root, workspace.branch, expires=now + int(_EXPIRES_S * 1e6))]

    await repository.submit_decided(actor, decide)
    fp("workspace.removal_held")
    try:
        await several(repository.store.delete, addresses, _WIDTH)
        fp("workspace.files_deleted")
        await repository.submit(actor, *then, Abandoned((held,)))
    except LochanError:
        with suppress(LochanError):  # then it is abandoned by whoever waits for it
            await repository.submit(actor, WorkspaceStaged(workspace.id), Abandoned((held,)))
        raise


async def settled(repository: OpenRepository, workspace: str, *, actor: Actor) -> tuple[Refs, int]:
    """The refs of a moment in which no file of the workspace is being removed."""
    while True:
        refs, number = await repository.refs()
        removals = refs.collection.removals(workspace)
        if not removals:
            return refs, number
        expired = tuple(id for id, held in removals if _is_over(held, repository.clock.wall()))
        if expired:
            with suppress(LochanError):  # somebody else was quicker
                await repository.submit(actor, WorkspaceStaged(workspace), Abandoned(expired))
        else:
            await repository.clock.sleep(_POLL_S)


def _is_over(held: Held, now: int) -> bool:
    return held.expires < now
