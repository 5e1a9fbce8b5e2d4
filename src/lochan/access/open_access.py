"""The access of an open lake: its journal, how fresh that must be, and the key of its secrets, put together. The verbs
are functions over it, in `users.py`, `keys.py` and `policies.py`."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from lochan.access.encryption import EncryptionKey
from lochan.access.freshness import Freshness
from lochan.access.state import AccessState
from lochan.clock import Clock
from lochan.errors import NotFound
from lochan.formats.events import Event
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.journal.journal import Journal

if TYPE_CHECKING:
    from lochan.access.users import KeyOwner

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
        """As of now. Use before the next await."""
        return (await self.journal.fresh()).of(AccessState)

    async def authorised_state(self, arrived: float) -> AccessState:
        """What a request that had arrived at `arrived` (boot time) may be judged by; see Freshness."""
        return await self.freshness.authorised_state(arrived)

    async def find_key(self, id: str, arrived: float) -> "KeyOwner | None":
        """Whose key that is, and its secret; None for one that is not there, or not any more."""
        from lochan.access.users import find_key

        return await find_key(self, id, arrived)

    def folded(self) -> AccessState:
        """As this process last saw it: after a submit, with what was submitted."""
        return self.journal.tail.state.of(AccessState)

    async def submit(
        self, actor: Actor, decide: Decide, *request: object, key: str = "", takes_away: bool = False
    ) -> Any:
        """Durable when it returns; and where access may have been taken away, in force everywhere (rule A1)."""
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
        except NotFound:  # taken away already, perhaps just now: whoever asks twice takes this for "done"
            await self.freshness.before_answer()
            raise
        await self.freshness.before_answer()
        return result
