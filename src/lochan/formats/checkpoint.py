"""A checkpoint: the folded state at one journal number. It makes a cold start short, and is never evidence (rule
J7)."""

import msgspec

from lochan.formats import frame

MAGIC = b"LOCHANCK"
VERSION = 1


class Checkpoint(msgspec.Struct, frozen=True, array_like=True):
    journal: str
    number: int  # the number of the last folded record
    digest: bytes  # the digest of that record, whose chain the tail read after this must continue
    parts: dict[str, msgspec.Raw]  # each part of the state, as the part itself writes it


def encode(checkpoint: Checkpoint) -> bytes:
    return frame.seal(MAGIC, VERSION, _encoder.encode(checkpoint))


def decode(data: bytes, what: str) -> Checkpoint:
    return frame.decode(MAGIC, VERSION, data, what, _decoder)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Checkpoint)
