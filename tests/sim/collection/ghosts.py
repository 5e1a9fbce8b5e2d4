"""Ghosts: records that a stalled writer's request leaves in slots whose records were packed and deleted long ago."""

import msgspec

from lochan.formats import record as records
from tests.sim.store import SimStore

_JOURNAL = "repo/journal/"


def leave_ghosts(store: SimStore) -> None:
    """In every slot that was trimmed, another record: the same events once more, but those of two records swapped, so
    that whoever believes them sees another history. No checkpoint helps: a listing need not show one (J7)."""
    for path in store.paths("repo/checkpoints/"):
        store.remove(path)
    slots = [path for path in _numbered(store) if store.peek(path) is None]
    assert slots, "no slot was trimmed, so there is nothing to explore"
    sealed = [records.decode(_bytes(store, path), path).record for path in slots]
    for path, own, other in zip(slots, sealed, [*sealed[1:], sealed[0]], strict=True):
        ghost = msgspec.structs.replace(own, put_id=bytes(16), entries=other.entries)
        store.plant(path, records.encode(ghost).data)


def _numbered(store: SimStore) -> list[str]:
    return [path for number in range(1, 10_000) if store.last(path := f"{_JOURNAL}{number:020d}") is not None]


def _bytes(store: SimStore, path: str) -> bytes:
    data = store.last(path)
    assert data is not None
    return data
