"""Workspaces opened, found and thrown away. Their files are the store's business."""

from lochan.failpoints import fp
from lochan.formats.record import Actor
from lochan.formats.workspace_events import WorkspaceDropped, WorkspaceOpened
from lochan.journal.request_key import CarriedOut
from lochan.versioning.idempotency import nothing, once
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.workspaces import WorkspaceState

_TAIL_BYTES = 4


async def _opened_first(repository: OpenRepository, before: CarriedOut) -> WorkspaceState:
    return repository.folded().workspaces.get(before.result)


@once(_opened_first)
async def open_workspace(repository: OpenRepository, branch: str, note: str = "", *, actor: Actor) -> WorkspaceState:
    """On the head that the branch has now. Raises NotFound."""
    tail = repository.ids.put_id()[:_TAIL_BYTES].hex()
    id: str = await repository.submit(actor, WorkspaceOpened(branch, tail, note))
    fp("workspace.opened")
    return repository.folded().workspaces.get(id)


async def find(repository: OpenRepository, id: str) -> WorkspaceState:
    """Raises NotFound, and Refused for one that is closed, with what became of it."""
    refs, _ = await repository.refs()
    return refs.workspaces.get(id)


async def opened(repository: OpenRepository, branch: str = "") -> list[WorkspaceState]:
    """The open ones, of one branch or of all, oldest first."""
    refs, _ = await repository.refs()
    return [each for each in refs.workspaces.all() if branch in ("", each.branch)]


@once(nothing)
async def drop(repository: OpenRepository, id: str, *, actor: Actor) -> None:
    """What it holds will never be committed; garbage collection removes its files."""
    await repository.submit(actor, WorkspaceDropped(id))
