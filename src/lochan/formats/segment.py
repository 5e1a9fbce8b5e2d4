"""A segment: the records of one full group, byte for byte as they stood in their slots (rule J4)."""

import msgspec

from lochan.formats import frame

MAGIC = b"LOCHANJS"
VERSION = 1


class Segment(msgspec.Struct, frozen=True, array_like=True):
    group: int
    first: int  # the number of the first record
    records: tuple[bytes, ...]


def encode(segment: Segment) -> bytes:
    return frame.seal(MAGIC, VERSION, _encoder.encode(segment))


def decode(data: bytes, what: str) -> Segment:
    return frame.decode(MAGIC, VERSION, data, what, _decoder)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Segment)
