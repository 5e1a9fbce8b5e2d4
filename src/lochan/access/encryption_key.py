"""The key that encrypts the secrets of access keys: given by the configuration, or else one that lies in the lake, made
by whoever needs it first.

In the lake it keeps secrets out of copies of the journal and out of the event feed; whoever may read the whole bucket
finds both the key and what it locks. Given by the configuration it is on the servers alone.
"""

from collections.abc import Callable
from hashlib import scrypt

from lochan.access.sealing import KEY_BYTES
from lochan.clock import Clock
from lochan.errors import Invalid, NotFound
from lochan.formats import key_file
from lochan.ids import Ids
from lochan.store.checked_reads import get_decoded
from lochan.store.conditional_put import settle
from lochan.store.protocol import Store

PATH = "_lake/keys/secrets"
GIVEN_BYTES_MIN = 16
_PATIENCE_S = 30.0


class EncryptionKey:
    """`given` reads what the configuration gave; it is called once, when the key is first needed."""

    def __init__(
        self, store: Store, clock: Clock, ids: Ids, *, lake: str, given: Callable[[], bytes] | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._lake = lake
        self._given = given
        self._key = b""

    async def get(self) -> bytes:
        if not self._key:
            self._key = derived(self._given(), self._lake) if self._given else await self._read_or_make()
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


def derived(given: bytes, lake: str) -> bytes:
    """Of any text or bytes, slowly: what people think of can be guessed. On somebody's disk, never changes."""
    if len(given) < GIVEN_BYTES_MIN:
        raise Invalid(
            f"the encryption key has {len(given)} bytes; {GIVEN_BYTES_MIN} is the least",
            hint="make one with: openssl rand -base64 32",
        )
    return scrypt(given, salt=f"lochan secrets {lake}".encode(), n=1 << 14, r=8, p=1, dklen=KEY_BYTES)
