"""One subscription: reads the journals from its position, and sends the selected events, batch by batch.

The position moves when a batch was accepted, or was given up as a dead letter; so a server that is killed in between
sends the batch again. Each request waits for its answer on a thread of its own, and holds up no other subscription."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Executor
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lochan.access.encryption import unseal
from lochan.access.requester import Requester
from lochan.api.subscriptions import read_letters, read_progress
from lochan.api.wrappers.guard import RightsGuard
from lochan.api.wrappers.resources import event_rights
from lochan.errors import LochanError, NotFound
from lochan.formats import subscription as files
from lochan.formats.subscription import DeadLetterRecord, SubscriptionProgress
from lochan.hooks.webhook import WebhookRequest, send, signature
from lochan.journal.feed import EventLine, FeedPositions, lines
from lochan.server.deliveries.event_match import is_wanted
from lochan.server.rest.events import event_fields

if TYPE_CHECKING:
    from lochan.api.session import Session
    from lochan.journal.journal import Journal
    from lochan.server.settings import DeliverySettings
    from lochan.versioning.state.subscriptions import SubscriptionState

BATCH_EVENTS_MAX = 100
BATCH_BYTES_MAX = 512 << 10
LETTERS_MAX = 1_000  # with more of them, events are not given up, and wait until the letters are handled
_FULL = "there are too many dead letters: have them sent again, or delete the subscription"
_DENIED = "its owner may not read these events"
_DENIED_S = 30.0
_SECOND = 1_000_000
_log = logging.getLogger("lochan.server")


class LakeView(NamedTuple):
    """The result of one look at the lake."""

    journals: dict[str, Journal]  # the journals that any subscription is about
    heads: dict[str, int]
    names: dict[str, str]  # the names of repositories, by their ids


class Subscriber:
    def __init__(self, session: Session, settings: DeliverySettings, pool: Executor, state: SubscriptionState) -> None:
        self.state = state
        self._session = session
        self._lake = session.lake
        self._clock = session.lake.clock
        self._settings = settings
        self._pool = pool
        self._progress = SubscriptionProgress()
        self._positions = FeedPositions()
        self._is_loaded = self._is_dirty = False
        self._saved = 0.0
        self._task: asyncio.Task[None] | None = None
        self._view = LakeView({}, {}, {})

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    async def load(self, view: LakeView) -> None:
        """Reads the subscription's position from its file: another server may have moved it."""
        self._progress = await read_progress(self._lake.store, self.state.id)
        self._positions = FeedPositions()
        position = self._progress.position or self.state.start
        if position:
            self._positions.parse(position, list(view.journals.values()))
        self._is_loaded, self._is_dirty = True, False

    async def is_waiting(self, view: LakeView) -> bool:
        if self.is_running:
            return False
        if not self._is_loaded:
            await self.load(view)
        if self._progress.due > self._clock.wall():
            return False
        behind = any(self._positions.after(id) < view.heads[id] for id in self._journals(view))
        return behind or self.state.redelivery > self._progress.redelivery

    def start(self, view: LakeView) -> None:
        self._view = view
        self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """Cancels the running task. The position is read again before the subscriber continues."""
        self._is_loaded = False
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _journals(self, view: LakeView) -> list[str]:
        only = self.state.filter.repository
        return [only] if only in view.journals else [] if only else list(view.journals)

    # --- one pass ----------------------------------------------------------------------------------------------------
    async def _run(self) -> None:
        try:
            if self.state.redelivery > self._progress.redelivery and not await self._redeliver():
                return
            for id in self._journals(self._view):
                if not await self._send_new(self._view.journals[id]):
                    return
                if self._positions.after(id) < self._view.heads[id]:  # a record without events
                    self._positions.begin(id, self._view.heads[id])
                    self._is_dirty = True
            if self._is_dirty and self._clock.boot() - self._saved > self._settings.turn_s / 2:
                await self._save(self._progress)
        except (LochanError, OSError) as error:
            _log.warning("subscription %s: %s", self.state.id, error)
            self._is_loaded = False

    async def _send_new(self, journal: Journal) -> bool:
        """Sends the new events of a journal. Returns False if a batch was refused, and is tried again when it is
        due."""
        batch, size = list[EventLine](), 0
        last: EventLine | None = None
        async for line in self._new_lines(journal):
            if await is_wanted(line, self.state.filter, self._target_of):
                batch.append(line)
                size += len(msgspec.json.encode(line.payload))
            last = line
            if len(batch) >= BATCH_EVENTS_MAX or size >= BATCH_BYTES_MAX:
                if not await self._send_batch(batch, last):
                    return False
                batch, size = [], 0
        if batch and last is not None:
            return await self._send_batch(batch, last)
        if last is not None:
            self._positions.passed(last)
            self._is_dirty = True
        return True

    async def _new_lines(self, journal: Journal) -> AsyncIterator[EventLine]:
        async for sealed in journal.records(self._positions.after(journal.journal)):
            for line in lines(sealed):
                if not self._positions.knows(line):
                    yield line

    async def _send_batch(self, batch: Sequence[EventLine], last: EventLine) -> bool:
        """Sends a batch, and moves the position behind `last`. Returns False if the batch is to be tried again."""
        progress, now = self._progress, self._clock.wall()
        if not await self._may_read():
            due = now + round(_DENIED_S * _SECOND)
            await self._save(msgspec.structs.replace(progress, trouble=_DENIED, due=due))
            return False
        trouble, tries = await self._post(batch, progress.attempts + 1), progress.attempts + 1
        now = self._clock.wall()
        if trouble and tries < self._settings.attempts:
            due = now + round(self._back_off_s(tries) * _SECOND)
            await self._save(msgspec.structs.replace(progress, attempts=tries, trouble=trouble, due=due))
            return False
        if trouble and len([each async for each in self._lake.store.list(self._letters)]) >= LETTERS_MAX:
            due = now + round(self._settings.pause_s * _SECOND)
            await self._save(msgspec.structs.replace(progress, attempts=tries - 1, trouble=_FULL, due=due))
            return False
        self._positions.passed(last)
        if not trouble:
            count = progress.delivered + len(batch)
            done = msgspec.structs.replace(progress, attempts=0, trouble="", due=0, delivered=count, last=now)
        else:
            await self._give_up(batch, tries, trouble)
            done = msgspec.structs.replace(progress, attempts=0, trouble=trouble, due=0, dead=progress.dead + 1)
        await self._save(done)
        return True

    def _back_off_s(self, tries: int) -> float:
        """Returns the pause before the next attempt. It varies by a quarter, so that not all subscriptions return at
        once to a receiver that had trouble."""
        pause = min(self._settings.pause_s, self._settings.retry_s * 2.0 ** min(tries - 1, 40))
        return pause * (0.75 + 0.5 * self._lake.ids.fraction())

    async def _save(self, progress: SubscriptionProgress) -> None:
        self._progress = msgspec.structs.replace(progress, position=str(self._positions))
        await self._lake.store.put(files.progress_path(self.state.id), files.encode(self._progress))
        self._is_dirty, self._saved = False, self._clock.boot()

    # --- what may be sent, and sending it ----------------------------------------------------------------------------
    async def _may_read(self) -> bool:
        """Returns whether the owner may read these events now, and is still the user that has subscribed."""
        owner = self.state.owner
        if not owner:
            return True
        access = self._lake.open_access()
        user = (await access.state()).find_user(owner)
        if user is None or user.disabled or user.created > self.state.time:
            return False
        only = self.state.filter.repository
        name = self._view.names.get(only, only) or None
        guard = RightsGuard(access, Requester(owner, ""), self._clock.boot())
        return await guard.may(event_rights(name))

    async def _post(self, batch: Sequence[EventLine], attempt: int) -> str:
        """Sends a batch. Returns the reason why it was refused, or an empty text if it was accepted."""
        try:
            request = await self._request(batch, attempt)
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(self._pool, partial(send, request, self._clock.boot))
        except LochanError as error:
            return error.message[:300]
        return "" if 200 <= answer.status < 300 else f"the receiver has answered {answer.status}"

    async def _request(self, batch: Sequence[EventLine], attempt: int) -> WebhookRequest:
        state = self.state
        secret = unseal(await self._lake.webhook_key(), state.sealed, id=state.id, user=state.owner)
        found = [
            {"id": event_id(each), **event_fields(each, self._view.names.get(each.repository, each.repository))}
            for each in batch
        ]
        body = msgspec.json.encode({"subscription": state.id, "attempt": attempt, "events": found})
        now = self._clock.wall() // _SECOND
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "lochan-events",
            "X-Lochan-Subscription": state.id,
            "X-Lochan-Time": str(now),
            "X-Lochan-Signature": signature(secret, now, body),
        }
        return WebhookRequest(state.url, body, headers, self._settings.timeout_s, self._lake.allowed_hosts)

    async def _target_of(self, repository: str, pull: str) -> str:
        try:
            async with self._session.opened(self._view.names.get(repository, "")) as opened:
                refs, _ = await opened.refs()
                found = refs.pulls.find(pull)
                return "" if found is None else found.target
        except NotFound:
            return ""

    @property
    def _letters(self) -> str:
        return files.letters_prefix(self.state.id)

    # --- dead letters ------------------------------------------------------------------------------------------------
    async def _give_up(self, batch: Sequence[EventLine], tries: int, trouble: str) -> None:
        """Stores the batch as a dead letter. Its name comes from its first event: if it is given up again after a kill,
        it is the same letter."""
        first = batch[0]
        id = f"{max(0, first.time):014x}{sha256(event_id(first).encode()).hexdigest()[:10]}"
        types = tuple(dict.fromkeys(each.type for each in batch))
        events = tuple((each.number, each.index) for each in batch)
        letter = DeadLetterRecord(files.FORMAT, id, first.repository, events, types, self._clock.wall(), tries, trouble)
        await self._lake.store.put(files.letter_path(self.state.id, id), files.encode(letter))
        _log.warning("subscription %s: %d events were given up: %s", self.state.id, len(batch), trouble)

    async def _redeliver(self) -> bool:
        """Sends every letter again for which this was requested, once. Returns False if the owner may not read the
        events."""
        if not await self._may_read():
            due = self._clock.wall() + round(_DENIED_S * _SECOND)
            await self._save(msgspec.structs.replace(self._progress, trouble=_DENIED, due=due))
            return False
        wanted = self.state.redelivery
        store, delivered = self._lake.store, self._progress.delivered
        for each in [each async for each in read_letters(store, self.state.id) if each.again]:
            path = files.letter_path(self.state.id, each.id)
            batch = await self._lines_of(each)
            trouble = await self._post(batch, each.attempts + 1) if batch else "its repository is gone"
            if trouble:
                failed = msgspec.structs.replace(each, attempts=each.attempts + 1, trouble=trouble, again=False)
                await store.put(path, files.encode(failed))
            else:
                await store.delete(path)
                delivered += len(batch)
        await self._save(msgspec.structs.replace(self._progress, redelivery=wanted, delivered=delivered))
        return True

    async def _lines_of(self, letter: DeadLetterRecord) -> list[EventLine]:
        journal, wanted = self._view.journals.get(letter.journal), set(letter.events)
        found: list[EventLine] = []
        if journal is None:
            return found
        first, last = letter.events[0][0], letter.events[-1][0]
        async for sealed in journal.records(first - 1):
            if sealed.record.number > last:
                break
            found += [each for each in lines(sealed) if (each.number, each.index) in wanted]
        return found


def event_id(line: EventLine) -> str:
    """Returns the id by which a receiver recognizes an event that it has got before."""
    return f"{line.repository}:{line.number}.{line.index}"
