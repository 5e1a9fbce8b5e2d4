"""A segment: the records of one full group, byte for byte as they stood in their slots (rule J4)."""

import msgspec

from lochan.errors import Corrupt
from lochan.formats import frame

MAGIC = b"LOCHANJS"
VERSION = 1


class Segment(msgspec.Struct, frozen=True, array_like=True):
    group: int
    first: int  # number of the first record
    records: tuple[bytes, ...]


def encode(segment: Segment) -> bytes:
    return frame.seal(MAGIC, VERSION, _encoder.encode(segment))


def decode(data: bytes, what: str) -> Segment:
    body = frame.unseal(MAGIC, VERSION, data, what)
    try:
        return _decoder.decode(body)
    except msgspec.DecodeError as error:
        raise Corrupt(f"{what} has a good checksum and cannot be read: {error}", hint="report this") from error


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Segment)
