"""How a head move lands: computed on the head of a moment, appended if that is still the head, and else computed anew.

Whoever was refused once takes a turn (S1): while anybody waits, only the first in the queue may move the branch, so a
commit lands under any stream of writes and moves. Puts and deletes never wait. Safety does not rest on the turn: the
events are valid only where they were computed.

    refused ──▶ queued (`branch_queue.py`) ──▶ first ──▶ computed, appended ──▶ landed: out of the queue
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from lochan.errors import ConcurrentCommit
from lochan.failpoints import fp
from lochan.formats.events import Event
from lochan.formats.record import Actor
from lochan.versioning.branch_queue import Queue
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.path_test import PathTest
from lochan.versioning.refs import Busy, Refs

_TRIES_MAX = 1_000  # the first in the queue needs one, unless it is sent away; this ends what would go on for ever


class Prepared(NamedTuple):
    """A head move with all its files written."""

    event: Event
    test: PathTest | None = None  # that no path it changes is staged
    above: int = 0  # of a commit: the seal; only what was staged after it counts


Prepare = Callable[[str], Awaitable[Prepared | None]]


async def land(
    repository: OpenRepository,
    branch: str,
    prepare: Prepare,
    *,
    actor: Actor,
    key: str = "",
    fingerprint: bytes = b"",
) -> Any:
    """What the event's fold answers. `prepare` is given the turn that its events must name, and asked again after every
    lost race; None says that it saw itself that it lost. Its errors, but for those of a lost race, are the answer."""
    queue = Queue(repository, branch, actor)
    try:
        for _ in range(_TRIES_MAX):
            try:
                prepared = await prepare(queue.turn)
                if prepared is not None:
                    result = await _append(repository, branch, prepared, actor, key, fingerprint)
                    queue.landed()
                    return result
            except (ConcurrentCommit, Busy) as error:
                if isinstance(error, Final):
                    raise
            await queue.wait()
        raise Final(f"branch {branch!r} was moved {_TRIES_MAX} times meanwhile", hint="try again")
    finally:
        await queue.leave()


async def _append(
    repository: OpenRepository, branch: str, prepared: Prepared, actor: Actor, key: str, fingerprint: bytes
) -> Any:
    def decide(refs: Refs) -> Sequence[Event]:
        if prepared.test is not None:
            layers = refs.branch(branch).layers
            if prepared.above in layers.seals:
                layers = layers.after(prepared.above)
            prepared.test.check(layers, refs.rules)
        return (prepared.event,)

    fp("land.prepared")
    result = await repository.submit_decided(actor, decide, key=key, fingerprint=fingerprint)
    fp("land.landed")
    return result


class Final(ConcurrentCommit):
    """What no second try can mend: the changes no longer apply."""
