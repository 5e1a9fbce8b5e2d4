"""The key that address tokens are signed with. It lies in the lake, made by whoever needs it first, so that a token
which one process has given is taken by every other. No verb shows it; whoever may read the lake's bucket can."""

from lochan.clock import Clock
from lochan.errors import NotFound
from lochan.formats import key_file
from lochan.ids import Ids
from lochan.store.checked_reads import get_decoded
from lochan.store.conditional_put import settle
from lochan.store.protocol import Store

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
        def decode(data: bytes) -> bytes:
            return key_file.decode(data, f"{PATH} in {self._store.url}")

        try:
            return await get_decoded(self._store, PATH, decode)
        except NotFound:
            deadline = self._clock.boot() + _PATIENCE_S
            made = key_file.encode(self._ids.signing_key())
            return decode(await settle(self._store, PATH, made, self._clock, self._ids, deadline))
