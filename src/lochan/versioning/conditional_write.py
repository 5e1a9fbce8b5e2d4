"""Writes on a condition: the object at a path must be, or must not be, what the writer thinks.

Looking may cost reads of the store, so it is done before the append; at the append only what can be seen in passing is
looked at again, and where more than that has changed, all is looked at anew.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from lochan.errors import ConcurrentCommit
from lochan.formats.entry import Change, Entry, Tombstone
from lochan.formats.events import Event
from lochan.formats.record import Actor
from lochan.staging.inline import Inline
from lochan.staging.layers import Layers
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.branch import Branch
from lochan.versioning.state.refs import Refs

Check = Callable[[Entry | None], None]  # raises PreconditionFailed or whatever the answer is to be
_TRIES_MAX = 100


class _LookAgain(ConcurrentCommit):
    pass


async def submit_if(
    repository: OpenRepository,
    branch: str,
    path: str,
    check: Check,
    events: Sequence[Event],
    *,
    actor: Actor,
    key: str = "",
    fingerprint: bytes = b"",
    also: Callable[[Refs], None] = lambda refs: None,
) -> Any:
    """Append the events while `check` does not object to the object at that path, as it is at that very moment, and
    `also` does not object to anything else."""
    for _ in range(_TRIES_MAX):
        refs, _ = await repository.refs()
        branch_seen = refs.branch(branch)
        view = await repository.view_of(refs.commit(branch_seen.head), branch_seen.layers)
        seen = _Seen(branch_seen, path, await view.get(path), check)
        check(seen.entry)
        try:
            return await repository.submit_decided(
                actor, partial(_decided, seen, events, also), key=key, fingerprint=fingerprint
            )
        except _LookAgain:
            continue
    raise ConcurrentCommit(f"branch {branch!r} changes too quickly for a condition to be tested", hint="try again")


class _Seen(NamedTuple):
    branch: Branch
    path: str
    entry: Entry | None
    check: Check


def _decided(seen: _Seen, events: Sequence[Event], also: Callable[[Refs], None], refs: Refs) -> Sequence[Event]:
    also(refs)
    now = refs.branch(seen.branch.name)
    inline = _newest_inline(now.layers, seen.path)
    if inline is not None:
        seen.check(None if isinstance(inline, Tombstone) else inline)
    elif _below(now) != _below(seen.branch) or _newest_inline(seen.branch.layers, seen.path) is not None:
        raise _LookAgain("the branch has changed meanwhile")
    else:
        seen.check(seen.entry)
    return events


def _below(branch: Branch) -> tuple[object, ...]:
    """Where everything else comes from than from the newest inline changes."""
    return branch.incarnation, branch.head, branch.layers.runs


def _newest_inline(layers: Layers, path: str) -> Change | None:
    """What lies above every run is the newest; what lies below one may be hidden by it, and does not count."""
    for layer in reversed(layers.layers):
        if not isinstance(layer, Inline):
            return None
        found = layer.get(path)
        if found is not None:
            return found
    return None
