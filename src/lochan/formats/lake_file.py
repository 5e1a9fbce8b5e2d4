"""lake.json: the file that makes a folder or a prefix a lake. It is written once, by put-if-absent.

In old lakes the file has no checksum, and they are opened nevertheless.
"""

import re

import msgspec

from lochan.errors import Corrupt, FutureFormat
from lochan.formats import json_file

PATH = "lake.json"
FORMAT = 1
JOURNALS = ("store", "postgres")

_ID = re.compile(r"[0-9A-Za-z]{27}")
_RESTORE = "restore it from a copy of the lake"


class LakeFile(msgspec.Struct, frozen=True):
    format: int
    lake: str  # the lake's id
    journal: str = "store"  # where the journals are: store or postgres
    created: int = 0


def encode(lake: LakeFile) -> bytes:
    return json_file.seal(lake, indented=True)


def decode(data: bytes, url: str) -> LakeFile:
    """Returns the content of lake.json. Raises Corrupt, or FutureFormat if a newer Lochan created the lake."""
    what = f"{url}/{PATH}"
    unsealed = json_file.unseal(data, what, _RESTORE)
    version = unsealed.fields.get("format")
    if type(version) is int and version > FORMAT:
        raise FutureFormat(
            f"the lake at {url} has format {version}; this Lochan reads up to {FORMAT}", hint="upgrade Lochan"
        )
    lake = json_file.convert(unsealed, LakeFile, what, _RESTORE)
    wrong = _wrong(lake)
    if wrong:
        raise Corrupt(f"{what} is damaged: {wrong}", hint=_RESTORE)
    return lake


def _wrong(lake: LakeFile) -> str:
    """Returns what is wrong with the file, or an empty text."""
    if lake.format < 1:
        return f"there is no format {lake.format}"
    if not _ID.fullmatch(lake.lake):
        return f"{lake.lake!r} is not the id of a lake"
    if lake.journal not in JOURNALS:
        return f"{lake.journal!r} is not a place for journals"
    return f"its creation time is {lake.created}" if lake.created < 0 else ""
