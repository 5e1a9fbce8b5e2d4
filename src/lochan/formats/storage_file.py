"""storage.json: names the lake and the repository whose files are in a storage outside the lake. It is written once, by
put-if-absent, before the first of those files, so that no other lake or repository takes the same place."""

import msgspec

from lochan.formats import json_file

PATH = "storage.json"
FORMAT = 1
_RESTORE = "restore it from a copy; it names the lake and the repository that the storage belongs to"


class StorageFile(msgspec.Struct, frozen=True):
    format: int
    lake: str  # the lake's id
    repository: str  # the repository's id
    created: int = 0


def encode(file: StorageFile) -> bytes:
    return json_file.seal(file, indented=True)


def decode(data: bytes, url: str) -> StorageFile:
    """Returns the content of storage.json. Raises Corrupt."""
    what = f"{url}/{PATH}"
    return json_file.convert(json_file.unseal(data, what, _RESTORE), StorageFile, what, _RESTORE)
