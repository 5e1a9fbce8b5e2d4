"""The key that address tokens are signed with. It lies in the lake, made by whoever needs it first, so that a token
which one process has given is taken by every other. No verb shows it; whoever may read the lake's bucket can."""

from lochan.clock import Clock
from lochan.errors import Corrupt, NotFound
from lochan.ids import Ids
from lochan.store.create import settle
from lochan.store.protocol import Store
from lochan.versioning.bodies.tokens import KEY_BYTES_MIN

PATH = "_lake/keys/address-tokens"
_PATIENCE_S = 30.0


class TokenKey:
    def __init__(self, store: Store, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._key = b""

    async def get(self) -> bytes:
        """Asked of the store once."""
        if not self._key:
            self._key = await self._read_or_make()
        return self._key

    async def _read_or_make(self) -> bytes:
        try:
            key = await self._store.get(PATH)
        except NotFound:
            deadline = self._clock.boot() + _PATIENCE_S
            key = await settle(self._store, PATH, self._ids.signing_key(), self._clock, self._ids, deadline)
        if len(key) < KEY_BYTES_MIN:
            raise Corrupt(f"{PATH} in {self._store.url} is not the key that was written", hint="restore this file")
        return key
