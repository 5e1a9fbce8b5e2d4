"""Secrets of access keys, encrypted at rest: AES-256-GCM, bound to the key's id and user. On somebody's disk.

sealed = version (1 byte, 1) + nonce (12 bytes) + ciphertext + tag (16 bytes)
"""

from typing import TYPE_CHECKING

from lochan.errors import Corrupt, FutureFormat, Invalid, Refused

if TYPE_CHECKING:  # loaded by whoever seals or unseals something, and by nobody else
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
_VERSION = b"\x01"
_NONCE_BYTES = 12


def seal(key: bytes, nonce: bytes, secret: str, *, id: str, user: str) -> bytes:
    """`nonce` must be new: with one key and one nonce only one secret may ever be encrypted."""
    return _VERSION + nonce + _cipher(key).encrypt(nonce, secret.encode(), _bound_to(id, user))


def unseal(key: bytes, sealed: bytes, *, id: str, user: str) -> str:
    """Raises Refused where the encryption key is another one, or the bytes were made for another access key."""
    if sealed[:1] != _VERSION:
        raise FutureFormat(f"the secret of access key {id!r} was sealed by a newer Lochan", hint="upgrade Lochan")
    nonce, body = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
    cipher = _cipher(key)
    from cryptography.exceptions import InvalidTag

    try:
        return cipher.decrypt(nonce, body, _bound_to(id, user)).decode()
    except InvalidTag:
        raise Refused(
            f"the secret of access key {id!r} cannot be decrypted with the lake's encryption key",
            hint="auth.encrypt.key_file or auth.encrypt.secret_key must say what it said when the key was made",
        ) from None
    except ValueError as error:  # no bytes of ours are so short
        raise Corrupt(f"the secret of access key {id!r} is damaged: {error}") from None


def _bound_to(id: str, user: str) -> bytes:
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
