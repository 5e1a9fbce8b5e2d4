"""The envelope of every Lochan file that is not Parquet. Stored on disk: never changes.

    magic 8 | format version 2 | length of the body 8 | body | SHA-256 of all before 32        (big-endian)

The last 32 bytes are the frame's digest: journal records name their predecessor by it.
"""

import struct
from hashlib import sha256
from typing import TypeVar

import msgspec

from lochan.errors import Corrupt, FutureFormat

T = TypeVar("T")

DIGEST_BYTES = 32
_HEAD = struct.Struct(">8sHQ")
HEAD_BYTES = _HEAD.size


def seal(magic: bytes, version: int, body: bytes) -> bytes:
    framed = _HEAD.pack(magic, version, len(body)) + body
    return framed + sha256(framed).digest()


def unseal(magic: bytes, newest: int, data: bytes, what: str) -> memoryview:
    """Returns the body. Raises Corrupt if a byte has changed, and FutureFormat if a newer Lochan wrote it."""
    if len(data) < _HEAD.size + DIGEST_BYTES:
        raise Corrupt(f"{what} is cut short: {len(data)} bytes", hint=_REPORT)
    found, version, length = _HEAD.unpack_from(data)
    if found != magic:
        raise Corrupt(f"{what} does not begin with {magic.decode()}: another file is in its place", hint=_REPORT)
    if sha256(memoryview(data)[:-DIGEST_BYTES]).digest() != data[-DIGEST_BYTES:]:
        raise Corrupt(f"{what} fails its checksum", hint=_REPORT)
    # The version comes after the checksum: a flipped bit in it is damage, not a newer format.
    if version > newest:
        raise FutureFormat(
            f"{what} has format version {version}; this Lochan reads up to {newest}", hint="upgrade Lochan to read it"
        )
    if length != len(data) - _HEAD.size - DIGEST_BYTES:
        raise Corrupt(
            f"{what} announces {length} bytes, but holds {len(data) - _HEAD.size - DIGEST_BYTES}", hint=_REPORT
        )
    return memoryview(data)[_HEAD.size : -DIGEST_BYTES]


def decode(magic: bytes, newest: int, data: bytes, what: str, decoder: msgspec.msgpack.Decoder[T]) -> T:
    """Decodes the body. Raises Corrupt or FutureFormat, naming `what`."""
    body = unseal(magic, newest, data, what)
    try:
        return decoder.decode(body)
    except msgspec.DecodeError as error:
        raise Corrupt(f"{what} has a valid checksum, but cannot be read: {error}", hint="report this") from error


def digest(data: bytes) -> bytes:
    return data[-DIGEST_BYTES:]


_REPORT = "restore this file from a copy of the lake; nothing was changed"
