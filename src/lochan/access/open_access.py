"""The access of an open lake: its journal, how fresh that must be, and the encryption key of its secrets. The verbs are
functions over it, in `users.py`, `keys.py` and `policies.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lochan.access.encryption import EncryptionKey
from lochan.access.state import AccessState
from lochan.clock import Clock
from lochan.errors import LochanError, NotFound
from lochan.formats.events import Event
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.journal.journal import Journal

if TYPE_CHECKING:
    import asyncio

    from lochan.access.requester import Requester
    from lochan.access.rights import Rights
    from lochan.access.users import KeyOwner


TRUST_S: Final = 1.0  # how old a probe may be
ANSWER_S: Final = 1.1  # how long a revocation waits


class Freshness:
    """When a copy of the lake's journal is new enough to accept a request, and when a revocation may be answered (A1).

        revocation   append durable ──── 1.1 s ──── answered
        request                                        arrived: some probe sent less than 1 s before this, or one now

    A client can rely on the answer that a key is revoked: a request that arrives after it, at any process, is judged by
    a state that was confirmed by a probe sent after the append was durable. The tenth of a second in between allows for
    clocks that do not run equally fast. On a disk, and with journals in PostgreSQL, a probe costs
    little: there every request waits for one that was sent after it arrived, and a revocation is answered at once.

    `trust_s` is 0 where every request probes: also where machines can be paused together with their boot clock."""

    def __init__(self, journal: Journal, clock: Clock, *, trust_s: float, answer_s: float) -> None:
        self._journal = journal
        self._clock = clock
        self._trust_s = trust_s
        self._answer_s = answer_s
        self._renewing: asyncio.Task[None] | None = None

    @classmethod
    def of(cls, journal: Journal, clock: Clock) -> Freshness:
        """Returns the freshness that the place of the journal needs."""
        far = journal.slots.aged
        return cls(journal, clock, trust_s=TRUST_S if far else 0.0, answer_s=ANSWER_S if far else 0.0)

    async def authorised_state(self, arrived: float) -> AccessState:
        """Returns a state that is fresh enough to judge a request. `arrived` is the boot-time clock, read after the
        request arrived. Requests that wait share one probe. Use the state before the next await; before an append ask
        again, with a new reading. Raises the error of a failed probe, so that a state that could not be confirmed gives
        access to no request."""
        # Everything that the journal held when the anchor's probe was sent is folded. A probe sent at the very instant
        # of the reading may have been sent before the request, so equal is not enough.
        sent = self._journal.tail.anchor.sent
        if not sent > arrived - self._trust_s:
            await self._journal.fresh()
        elif sent < arrived - self._trust_s / 2:
            self._renew()
        return self._journal.tail.state.of(AccessState)

    async def catch_up(self, arrived: float) -> bool:
        """Probes for newer state, before a request with an unknown key is refused: a key that was made, or made
        anew, within the last second is not known here yet. Returns False if the known state is newer than the request,
        so that trying again would change nothing."""
        if self._journal.tail.anchor.sent > arrived:
            return False
        await self._journal.fresh()
        return True

    def _renew(self) -> None:
        """Starts a probe in the background, ahead of time, so that under steady traffic no request waits for one."""
        if self._renewing is None:
            import asyncio

            self._renewing = asyncio.create_task(self._probe())

    async def _probe(self) -> None:
        try:
            await self._journal.fresh()
        except LochanError:
            pass  # if it still fails when the trust has run out, a request gets the error
        finally:
            self._renewing = None

    async def before_answer(self) -> None:
        """Waits until a revocation that is durable is in force everywhere. A caller that took access away awaits this
        before it answers."""
        if self._answer_s:
            await self._clock.sleep(self._answer_s)


Decide = Callable[[AccessState], Sequence[Event]]


class OpenAccess:
    def __init__(
        self, journal: Journal, clock: Clock, ids: Ids, encryption: EncryptionKey, freshness: Freshness | None = None
    ) -> None:
        self.journal = journal
        self.clock = clock
        self.ids = ids
        self.encryption = encryption
        self.freshness = freshness or Freshness.of(journal, clock)
        self.unsealed: dict[bytes, str] = {}  # secrets that were decrypted, by what they were decrypted from

    async def state(self) -> AccessState:
        """Returns the state as of now. Use it before the next await."""
        return (await self.journal.fresh()).of(AccessState)

    async def authorised_state(self, arrived: float) -> AccessState:
        """Returns a state that is fresh enough to judge a request that arrived at `arrived` (boot time); see
        Freshness."""
        return await self.freshness.authorised_state(arrived)

    async def rights(self, requester: Requester, arrived: float) -> Rights:
        """Returns what a request that arrived at `arrived` may do now. Use it before the next await."""
        state = await self.freshness.authorised_state(arrived)
        return state.rights_of(requester, self.clock.wall())

    async def find_key(self, id: str, arrived: float) -> KeyOwner | None:
        """Returns the owner of the key and its secret, or None if there is no such key or it is not active."""
        from lochan.access.users import find_key

        return await find_key(self, id, arrived)

    def folded(self) -> AccessState:
        """Returns the state as this process last saw it. After a submit it contains what was submitted."""
        return self.journal.tail.state.of(AccessState)

    async def submit(
        self, actor: Actor, decide: Decide, *request: object, key: str = "", takes_away: bool = False
    ) -> Any:
        """Appends the change and returns when it is durable. If it may take rights away, it returns only when every
        worker honours it (rule A1)."""
        from lochan.journal.group import AppendRequest
        from lochan.journal.keys import KeyedActor, without_key

        fingerprint = sha256(msgspec.msgpack.encode(request)).digest()
        if isinstance(actor, KeyedActor) and not key:
            key, fingerprint = actor.key, actor.fingerprint
        append = AppendRequest(without_key(actor), lambda state: decide(state.of(AccessState)), key, fingerprint)
        if not takes_away:
            return await self.journal.submit(append)
        try:
            result = await self.journal.submit(append)
        except NotFound:  # taken away already, perhaps just now: a caller that repeats it takes this for "done"
            await self.freshness.before_answer()
            raise
        await self.freshness.before_answer()
        return result
