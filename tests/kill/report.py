"""The report of a child to its parent, a line for each step. A line is written before the child goes on, so the parent
knows what the child knew.
"""

import os
from pathlib import Path

import msgspec

DONE, REFUSED, UNKNOWN = "done", "refused", "unknown"


class SentRequest(msgspec.Struct, frozen=True, tag=True):
    """Before the request is sent."""

    request: str  # unique; the journal holds it as the source of the request
    verb: str  # create: by the journal itself; repository, delete: by the lake
    name: str
    key: str


class Answered(msgspec.Struct, frozen=True, tag=True):
    """When the answer has come."""

    request: str
    outcome: str  # DONE, REFUSED: did not happen, UNKNOWN
    result: str  # the repository's id, or the error


class Alarmed(msgspec.Struct, frozen=True, tag=True):
    text: str


class Finished(msgspec.Struct, frozen=True, tag=True):
    """The child came to its end."""

    passed: dict[str, int]  # how often each failpoint was passed


Line = SentRequest | Answered | Alarmed | Finished


def write(line: Line) -> None:
    os.write(1, _encoder.encode(line) + b"\n")


def read(file: Path) -> list[Line]:
    """Whole lines: the kill may have cut the last one, which then does not count."""
    lines = file.read_bytes().split(b"\n")[:-1] if file.exists() else []
    return [_decoder.decode(line) for line in lines]


_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
