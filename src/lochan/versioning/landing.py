"""How a head move lands: computed on the head of a moment, appended if that is still the head, and else computed anew.

Whoever was refused once takes a turn (S1): while anybody waits, only the first in the queue may move the branch, so a
commit lands under any stream of writes and moves. Puts and deletes never wait. Safety does not rest on the turn: the
events are valid only where they were computed.

    refused ──▶ turned ──▶ wait to be first ──▶ compute, append ──▶ landed: out of the queue
                                  └── the first has been there for too long ──▶ turn-over of the first
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from lochan.errors import ConcurrentCommit, LochanError
from lochan.failpoints import fp
from lochan.formats.events import Event
from lochan.formats.record import Actor
from lochan.formats.refs_events import Turned, TurnOver
from lochan.journal.request_key import without_key
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.path_test import PathTest
from lochan.versioning.refs import Busy, Refs

FRONT_S = 10.0  # how long a request may be the first in the queue; twice as long each time it is sent away
_TRIES_MAX = 1_000  # the first in the queue needs one, unless it is sent away; this ends what would go on for ever
_POLL_S = 0.02
_POLL_S_MAX = 0.5


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


class Queue:
    """One request's place in the queue of a branch."""

    def __init__(self, repository: OpenRepository, branch: str, actor: Actor) -> None:
        self._repository = repository
        self._branch = branch
        self._actor = without_key(actor)  # it also leaves the queue for a twin that has landed
        self._request = ""
        self._sent_away = 0
        self._front = ""  # who is first, as far as we saw
        self._since = 0.0  # when we saw that

    @property
    def turn(self) -> str:
        """To be named by the events of this request; empty while it never was refused."""
        return self._request

    def landed(self) -> None:
        self._request = ""

    async def leave(self) -> None:
        if self._request:
            with suppress(LochanError):  # then the others send us away when our time is over
                await self._repository.submit(self._actor, TurnOver(self._branch, self._request))

    async def wait(self) -> None:
        """Until this request is the first. Raises NotFound when the branch is gone."""
        pause = _POLL_S
        while True:
            refs, _ = await self._repository.refs()
            turns = refs.branch(self._branch).turns
            if not any(turn.request == self._request for turn in turns):
                await self._enter()
                continue
            if turns[0].request == self._request:
                return
            if self._has_waited(turns[0].request, turns[0].patience):
                await self._repository.submit(self._actor, TurnOver(self._branch, turns[0].request))
                continue
            await self._repository.clock.sleep(pause)
            pause = min(2 * pause, _POLL_S_MAX)

    async def _enter(self) -> None:
        if self._request:
            self._sent_away += 1
        else:
            self._request = self._repository.ids.ksuid(self._repository.clock.wall())
        await self._repository.submit(self._actor, Turned(self._branch, self._request, self._sent_away))
        fp("land.turned")

    def _has_waited(self, front: str, patience: int) -> bool:
        now = self._repository.clock.boot()
        if front != self._front:
            self._front, self._since = front, now
        return now - self._since > FRONT_S * (1 << patience)
