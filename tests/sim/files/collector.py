"""Garbage collection as the rules allow it, and no kinder: what a plan lists is swept at once.

A plan lists the bodies that were minted before its cut, that nothing names and nobody holds open. It is exact for the
state that it was made of, or refused (G2).
"""

from contextlib import suppress

from lochan.errors import LochanError
from lochan.formats.collection_events import PlanEnded, Planned
from lochan.formats.record import Actor
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.collection import Stale, mint_of
from lochan.versioning.state.refs import Refs
from tests.sim.files.oracle import named_entries
from tests.sim.store import SimStore

_TRIES = 5


async def collect(repository: OpenRepository, store: SimStore, actor: Actor) -> None:
    """A plan that another collector has left behind, or is still about to sweep, is abandoned first."""
    with suppress(LochanError):
        refs, _ = await repository.refs()
        running = refs.collection._numbers.get("running")
        if running:
            await repository.submit(actor, PlanEnded(running, "abandoned"))
    with suppress(LochanError):
        await _collect(repository, store, actor)


async def _collect(repository: OpenRepository, store: SimStore, actor: Actor) -> None:
    for _ in range(_TRIES):
        refs, number = await repository.refs()
        cut = refs.collection.plan
        dead = _dead(refs, store, repository.repository.id, cut)
        try:
            plan = await repository.submit(actor, Planned(cut, number, f"plans/{number}"))
        except Stale:
            continue
        for path in dead:
            await repository.store.delete(path)
        await repository.submit(actor, PlanEnded(plan, "reported"))
        return


def _dead(refs: Refs, store: SimStore, id: str, cut: int) -> list[str]:
    """Read from the true store: how a collector reads is not what is tested here."""
    named = {block.address for _, entry in named_entries(refs, store, id) for block in entry.blocks}
    replaced = {address for address in named if refs.collection.alias(address) != address}  # nobody reads them any more
    live = {refs.collection.alias(address) for address in named} - replaced
    open_folders = tuple(f"{id}/workspaces/{each.id}/" for each in refs.workspaces.all())
    found = store.paths(f"{id}/data/") + store.paths(f"{id}/workspaces/")
    return [
        path
        for path in found
        if "/_committed/" not in path and mint_of(path) < cut and path not in live and not path.startswith(open_folders)
    ]
