"""A checkpoint: the folded state at one journal number. A shortcut for a cold start, never evidence (rule J7)."""

import msgspec

from lochan.errors import Corrupt
from lochan.formats import frame

MAGIC = b"LOCHANCK"
VERSION = 1


class Checkpoint(msgspec.Struct, frozen=True, array_like=True):
    journal: str
    number: int  # the last record folded
    digest: bytes  # of that record: the tail read after this must continue its chain
    parts: dict[str, msgspec.Raw]  # each part of the state, as the part itself writes it


def encode(checkpoint: Checkpoint) -> bytes:
    return frame.seal(MAGIC, VERSION, _encoder.encode(checkpoint))


def decode(data: bytes, what: str) -> Checkpoint:
    body = frame.unseal(MAGIC, VERSION, data, what)
    try:
        return _decoder.decode(body)
    except msgspec.DecodeError as error:
        raise Corrupt(f"{what} has a good checksum and cannot be read: {error}", hint="report this") from error


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Checkpoint)
