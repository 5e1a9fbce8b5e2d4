"""A key of the lake, as it is stored. Stored on disk: never changes.

    key 32 | SHA-256 of "lochan key" and the key 32

Old keys have no checksum: they are 32 bytes long.
"""

from hashlib import sha256

from lochan.errors import Corrupt

KEY_BYTES = 32


def encode(key: bytes) -> bytes:
    return key + _checksum(key)


def decode(data: bytes, what: str) -> bytes:
    """Returns the key. Raises Corrupt."""
    key = data[:KEY_BYTES]
    if len(key) < KEY_BYTES or data[KEY_BYTES:] not in (b"", _checksum(key)):
        raise Corrupt(
            f"{what} is damaged: it is not the key that was written", hint="restore this file from a copy of the lake"
        )
    return key


def _checksum(key: bytes) -> bytes:
    return sha256(b"lochan key" + key).digest()
