"""Finds events that were not sent to their subscriptions, and has each subscription send its own.

Several servers may look after one lake. The one that has events to send records its turn in the lake's journal, and
again as long as it continues; the others do not send until it has recorded nothing for a while. This only saves work:
events that two servers send arrive twice, with equal ids."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from lochan.errors import LochanError
from lochan.lake import LAKE_JOURNAL
from lochan.server.deliveries.event_match import TURN
from lochan.server.deliveries.subscriber import LakeView, Subscriber
from lochan.versioning.state.subscriptions import OF_LAKE_MAX, Subscriptions
from lochan.versioning.upkeep_turns import last_turn, take_turn

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lochan.api.session import Session
    from lochan.journal.journal import Journal
    from lochan.server.settings import DeliverySettings
    from lochan.versioning.state.subscriptions import SubscriptionState

_LOOK_S = 1.0
_LOOK_PER_JOURNAL_S = 0.02  # each look asks the store once for each journal, at most fifty times in a second
_AT_ONCE = 16
_SECOND = 1_000_000
_log = logging.getLogger("lochan.server")


async def deliver(session: Session, settings: DeliverySettings) -> None:
    """Sends events until it is cancelled."""
    await Deliverer(session, settings).run()


class Deliverer:
    def __init__(self, session: Session, settings: DeliverySettings) -> None:
        self._session = session
        self._lake = session.lake
        self._settings = settings
        self._pool = ThreadPoolExecutor(OF_LAKE_MAX, "lochan-deliveries")
        self._subscribers: dict[str, Subscriber] = {}
        self._journals: dict[str, Journal] = {}
        self._turn = 0  # the record of this server's last turn

    async def run(self) -> None:
        try:
            while True:
                try:
                    await self.look()
                except (LochanError, OSError) as error:
                    _log.warning("could not look for events to send: %s", error)
                await self._lake.clock.sleep(max(_LOOK_S, _LOOK_PER_JOURNAL_S * len(self._journals)))
        finally:
            await self._keep(())
            self._pool.shutdown(wait=False, cancel_futures=True)

    async def look(self) -> None:
        """Starts the subscribers that have events to send."""
        state = (await (await self._lake.journal()).fresh()).of(Subscriptions)
        found = state.all()
        await self._keep(each.id for each in found)
        for each in found:
            if each.id not in self._subscribers:
                self._subscribers[each.id] = Subscriber(self._session, self._settings, self._pool, each)
            self._subscribers[each.id].state = each
        if not found:
            self._journals.clear()
            return
        view = await self._view(found)
        waiting = [each for each in self._subscribers.values() if await each.is_waiting(view)]
        if not waiting and not any(each.is_running for each in self._subscribers.values()):
            return
        if not await self._has_turn(view, waiting):
            return
        for subscriber in waiting:
            if await subscriber.is_waiting(view):
                subscriber.start(view)

    async def _keep(self, ids: Iterable[str]) -> None:
        """Stops the subscribers of all subscriptions except these."""
        kept = set(ids)
        for id in self._subscribers.keys() - kept:
            await self._subscribers.pop(id).stop()

    async def _view(self, found: list[SubscriptionState]) -> LakeView:
        names = {each.id: each.name for each in await self._lake.repositories()}
        journals = {LAKE_JOURNAL, *names}
        about = {each.filter.repository for each in found}
        needed = journals if "" in about else about & journals
        for gone in self._journals.keys() - needed:
            del self._journals[gone]
        for id in needed - self._journals.keys():
            self._journals[id] = await self._lake.journal(id)
        limit = asyncio.Semaphore(_AT_ONCE)

        async def head(id: str) -> tuple[str, int]:
            async with limit:
                return id, (await self._journals[id].fresh()).number

        heads = dict(await asyncio.gather(*(head(id) for id in self._journals)))
        return LakeView(dict(self._journals), heads, names)

    async def _has_turn(self, view: LakeView, waiting: list[Subscriber]) -> bool:
        """Returns whether it is this server's turn to send. Others may have sent events since its last turn, so it
        reads the positions again then."""
        journal, now = await self._lake.journal(), self._lake.clock.wall()
        lasts = round(self._settings.turn_s * _SECOND)
        turn = await last_turn(journal, TURN, now)
        is_over = turn is None or turn.time <= now - lasts
        if turn is not None and turn.number == self._turn:
            if turn.time > now - lasts // 2:
                return True
        elif not is_over:
            for each in self._subscribers.values():
                if each.is_running:
                    await each.stop()
            return False
        else:
            for each in self._subscribers.values():
                await each.load(view)
            if not any([await each.is_waiting(view) for each in waiting]):
                return False
        # Our own turn is recorded again at half of its time: no other server has begun since then.
        before = turn.time if turn is not None and turn.number == self._turn else now - lasts
        if not await take_turn(journal, TURN, before, now, actor=self._session.actor):
            return False
        own_turn = await last_turn(journal, TURN, self._lake.clock.wall())
        self._turn = own_turn.number if own_turn is not None else 0
        return True
