"""The key that encrypts the secrets of access keys. The configuration gives it; otherwise the lake stores it, made by
the first process that needs it.

A key in the lake keeps secrets out of copies of the journal and out of the event feed, but a program that can read the
whole bucket finds both the key and the secrets. A key from the configuration is on the servers alone.

Sealed secrets are stored on disk: AES-256-GCM, bound to the id and the user of the access key.

sealed = version (1 byte, 1) + nonce (12 bytes) + ciphertext + tag (16 bytes)
"""

from collections.abc import Callable
from hashlib import scrypt
from typing import TYPE_CHECKING

from lochan.clock import Clock
from lochan.errors import Corrupt, FutureFormat, Invalid, Refused
from lochan.ids import Ids
from lochan.store.protocol import Store

if TYPE_CHECKING:  # loaded only to seal or unseal something
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

PATH = "_lake/keys/secrets"
GIVEN_BYTES_MIN = 16
KEY_BYTES = 32
_VERSION = b"\x01"
_NONCE_BYTES = 12


class EncryptionKey:
    """The key that encrypts secrets. `given` reads the key that the configuration names; it is called once, when the
    key is first needed."""

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
            self._key = derive_key(self._given(), self._lake) if self._given else await self._read()
        return self._key

    async def _read(self) -> bytes:
        from lochan.versioning.bodies.tokens import read_or_make_key  # a command that only looks needs no key

        return await read_or_make_key(self._store, PATH, self._clock, self._ids)


def derive_key(given: bytes, lake: str) -> bytes:
    """Derives a key from any text or bytes. It is slow on purpose, since a text chosen by a person can be guessed. Keys
    that it derived are in use: it never changes."""
    if len(given) < GIVEN_BYTES_MIN:
        raise Invalid(
            f"the encryption key has {len(given)} bytes; {GIVEN_BYTES_MIN} is the least",
            hint="make one with: openssl rand -base64 32",
        )
    return scrypt(given, salt=f"lochan secrets {lake}".encode(), n=1 << 14, r=8, p=1, dklen=KEY_BYTES)


def seal(key: bytes, nonce: bytes, secret: str, *, id: str, user: str) -> bytes:
    """Encrypts a secret. `nonce` must be new: with one key and one nonce only one secret may ever be encrypted."""
    return _VERSION + nonce + _cipher(key).encrypt(nonce, secret.encode(), _associated_data(id, user))


def unseal(key: bytes, sealed: bytes, *, id: str, user: str) -> str:
    """Decrypts a secret. Raises Refused if the encryption key is another one, or if the bytes were made for another
    access key; raises Corrupt and FutureFormat too."""
    if sealed[:1] != _VERSION:
        raise FutureFormat(f"the secret of access key {id!r} was sealed by a newer Lochan", hint="upgrade Lochan")
    nonce, body = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
    cipher = _cipher(key)
    from cryptography.exceptions import InvalidTag

    try:
        return cipher.decrypt(nonce, body, _associated_data(id, user)).decode()
    except InvalidTag:
        raise Refused(
            f"the secret of access key {id!r} cannot be decrypted with the lake's encryption key",
            hint="auth.encrypt.key_file or auth.encrypt.secret_key must say what it said when the key was made",
        ) from None
    except ValueError as error:  # no bytes of ours are so short
        raise Corrupt(f"the secret of access key {id!r} is damaged: {error}") from None


def _associated_data(id: str, user: str) -> bytes:
    return f"lochan access key\0{id}\0{user}".encode()


def _cipher(key: bytes) -> "AESGCM":
    assert len(key) == KEY_BYTES
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise Invalid(
            f"access keys need the package cryptography: {error}", hint="pip install 'lochan[server]'"
        ) from None
    return AESGCM(key)
