"""The queue of a branch (S1): a request that was refused once waits here until it is first, and then lands.

    turned ──▶ renewed every 3 s ──▶ first ──▶ landed: out of the queue
                     └── not renewed for 10 s ──▶ turn-over, by any request that waits behind it

An entry names its writer. All entries age at the same time, each since the waiter first saw it or its last renewal, by
the waiter's own boot-time clock. So any number of entries of dead writers delay a request no longer than one of them
would. Safety does not depend on any of this: a writer that was dropped too early queues again."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from lochan.errors import Conflict, LochanError
from lochan.failpoints import fp
from lochan.formats.events import Event
from lochan.formats.record import Actor
from lochan.formats.repository_events import Turned, TurnOver
from lochan.journal.keys import without_key
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.branch import Turn
from lochan.versioning.state.refs import Refs

if TYPE_CHECKING:
    import asyncio  # nearly no request ever waits

SILENT_S = 10.0  # a writer that was silent for so long is considered dead
RENEW_S = 3.0
FRONT_S = 60.0  # how long a living request may be first in the queue; it doubles each time the request is sent away
_DOUBLED_MAX = 4
_TELL_S = 2.0  # a request that waits longer than this logs what it waits for
_TELL_AGAIN_S = 30.0
_POLL_S = 0.02
_POLL_S_MAX = 0.5
_log = logging.getLogger("lochan.versioning")


class BranchQueue:
    """One request's place in the queue of a branch."""

    def __init__(self, repository: OpenRepository, branch: str, actor: Actor) -> None:
        self._repository = repository
        self._branch = branch
        self._actor = without_key(actor)  # without its key, because it also leaves the queue after a twin has landed
        self._request = ""
        self._sent_away = 0
        self._ages = WriterAges()
        self._renewal: asyncio.Task[None] | None = None

    @property
    def turn(self) -> str:
        """The name of the request, which its events carry. It is empty if the request was never refused."""
        return self._request

    def landed(self) -> None:
        self._request = ""

    async def leave(self) -> None:
        if self._renewal is not None:
            self._renewal.cancel()
        if self._request:
            with suppress(LochanError):  # otherwise the others drop us, because we no longer renew
                await self._repository.submit(self._actor, TurnOver(self._branch, self._request))

    async def wait(self) -> None:
        """Waits until this request is first. Raises NotFound if the branch is gone."""
        pause, began = _POLL_S, self._now()
        tell_at = began + _TELL_S
        while True:
            refs, _ = await self._repository.refs()
            turns = refs.branch(self._branch).turns
            place = next((at for at, turn in enumerate(turns) if turn.request == self._request), None)
            if place is None:
                await self._enter()
                continue
            if place == 0:
                return
            now = self._now()
            self._ages.look(turns, now)
            over = list(self._overdue_turns(turns, turns[:place], now))
            if over and await self._drop(over):
                continue
            if now >= tell_at:
                tell_at = now + _TELL_AGAIN_S
                self._tell(turns, place, now - began)
            await self._repository.clock.sleep(pause)
            pause = min(2 * pause, _POLL_S_MAX)

    async def _enter(self) -> None:
        if self._request:
            self._sent_away += 1
        else:
            self._request = self._repository.ids.ksuid(self._repository.clock.wall())
        await self._repository.submit(self._actor, self._turn_event())
        if self._renewal is None:
            import asyncio

            self._renewal = asyncio.create_task(self._keep_renewed())
        fp("land.turned")

    def _now(self) -> float:
        """Returns the time by the boot-time clock. Ages are never measured by a wall clock: it jumps, and differs
        between machines."""
        return self._repository.clock.boot()

    def _turn_event(self) -> Turned:
        return Turned(self._branch, self._request, self._sent_away, self._repository.journal.writer)

    # --- showing that we are alive -----------------------------------------------------------------------------------
    async def _keep_renewed(self) -> None:
        """Renews the turn, also while the request computes what it will append, which may take minutes."""
        while True:
            await self._repository.clock.sleep(RENEW_S)
            with suppress(LochanError):
                await self._repository.submit_decided(self._actor, self._renewal_events)

    def _renewal_events(self, refs: Refs) -> Sequence[Event]:
        """Returns the renewal. Refuses for a request that has left the queue, because that would leave an entry without
        a request, and if no other request is there to see the renewal."""
        found = refs.find_branch(self._branch)
        queued = [turn.request for turn in found.turns] if found is not None else []
        if self._request not in queued or len(queued) == 1:
            raise Conflict("nobody else waits in the queue")
        return [self._turn_event()]

    # --- those who are not -------------------------------------------------------------------------------------------
    def _overdue_turns(self, turns: Sequence[Turn], ahead: Sequence[Turn], now: float) -> Iterable[TurnOver]:
        """Yields events that end the entries in front of us whose writers are gone."""
        dead: set[str] = set()
        for turn in ahead:
            if turn.writer in dead:
                continue
            own = [each for each in turns if each.writer == turn.writer] if turn.writer else [turn]
            if turn.writer and self._ages.silent_s(own, now) > SILENT_S:
                dead.add(turn.writer)
                upto = max(each.renewed for each in own)
                yield TurnOver(self._branch, writer=turn.writer, upto=upto)
            elif self._ages.silent_s([turn], now) > _patience_s(turn):
                yield TurnOver(self._branch, turn.request, upto=turn.renewed)
        front = ahead[0]
        if self._ages.at_front_s(now) > FRONT_S * (1 << min(front.patience, _DOUBLED_MAX)):
            yield TurnOver(self._branch, front.request)

    async def _drop(self, over: Sequence[TurnOver]) -> bool:
        """Drops these entries. Returns False if one of them was renewed meanwhile."""
        try:
            await self._repository.submit(self._actor, *over)
        except Conflict:
            return False
        for each in over:
            who = f"writer {each.writer}" if each.writer else f"request {each.request}"
            _log.warning("branch %r: %s was silent for too long and is dropped from the queue", self._branch, who)
        return True

    def _tell(self, turns: Sequence[Turn], place: int, waited_s: float) -> None:
        front = turns[0]
        who = f"{front.user or 'somebody'} (writer {front.writer or 'unknown'})"
        silent_s = self._ages.silent_s([front], self._now())
        _log.warning(
            "branch %r: waiting for %d requests in front of this one, for %.0f s now; the first one is from %s, last "
            "heard of %.0f s ago; a writer that is silent for %.0f s is dropped",
            self._branch,
            place,
            waited_s,
            who,
            silent_s,
            SILENT_S,
        )


class WriterAges:
    """Measures how long ago each entry of a queue was renewed, as far as this process can know."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[int, float]] = {}  # by request: its last renewal, and when that was first seen
        self._front = "", 0.0  # the first request, and since when it is first

    def look(self, turns: Sequence[Turn], now: float) -> None:
        before, self._since = self._since, {}
        for turn in turns:
            earlier = before.get(turn.request)
            fresh = earlier is None or earlier[0] != turn.renewed
            self._since[turn.request] = (turn.renewed, now) if earlier is None or fresh else earlier
        if turns and self._front[0] != turns[0].request:
            self._front = turns[0].request, now

    def silent_s(self, turns: Iterable[Turn], now: float) -> float:
        """Returns the seconds since the last of them was renewed."""
        return now - max(self._since[turn.request][1] for turn in turns)

    def at_front_s(self, now: float) -> float:
        return now - self._front[1]


def _patience_s(turn: Turn) -> float:
    """Returns how long the turn may be first. Entries of older versions name no writer and are not renewed: those that
    were dropped before get more time."""
    return SILENT_S if turn.writer else SILENT_S * (1 << min(turn.patience, _DOUBLED_MAX))
