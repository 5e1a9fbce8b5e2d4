"""lake.json: the one file that makes a folder or a prefix a lake. Written once, by put-if-absent."""

import msgspec

from lochan.errors import Corrupt, FutureFormat

PATH = "lake.json"
FORMAT = 1


class LakeFile(msgspec.Struct, frozen=True):
    format: int
    lake: str  # the lake's id
    journal: str = "store"  # where the journals are: store | postgres
    created: int = 0


def encode(lake: LakeFile) -> bytes:
    return msgspec.json.format(msgspec.json.encode(lake)) + b"\n"


def decode(data: bytes, url: str) -> LakeFile:
    try:
        version = msgspec.json.decode(data, type=_OnlyFormat).format
        if version <= FORMAT:
            return msgspec.json.decode(data, type=LakeFile)
    except msgspec.DecodeError as error:
        raise Corrupt(f"{url}/{PATH} cannot be read: {error}", hint="restore it from a copy of the lake") from error
    raise FutureFormat(
        f"the lake at {url} has format {version}; this Lochan reads up to {FORMAT}", hint="upgrade Lochan"
    )


class _OnlyFormat(msgspec.Struct):
    format: int
