"""The documents that clients send: the parts of an upload, the keys to delete, where a bucket shall be.

Each has a reader that is fed as the body comes and told its end; one call does both for a body that is there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar, Final, NamedTuple

from lochan.server.gateway.wire.checksums import HASHERS, checked_value
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.etags import unquoted
from lochan.server.gateway.wire.xml_reader import Schema, XmlReader, malformed

PARTS_MAX: Final = 10_000
DELETES_MAX: Final = 1_000

_CHECKSUMS: Final[Mapping[str, str]] = {f"Checksum{name}": name for name in HASHERS}


class CompletedPart(NamedTuple):
    number: int
    etag: str  # without quotes
    checksums: Mapping[str, str]  # in base64, by the algorithm


class Deletion(NamedTuple):
    key: str
    version: str | None = None
    etag: str | None = None  # delete only this one
    modified: str | None = None
    size: str | None = None


@dataclass(slots=True)
class Deletions:
    objects: list[Deletion] = field(default_factory=list)
    quiet: bool = False


class CompleteReader(XmlReader):
    """The parts, in ascending order. Raises MalformedXML or InvalidPartOrder."""

    schema: ClassVar[Schema] = {
        "CompleteMultipartUpload": {"Part": {"PartNumber": None, "ETag": None, **dict.fromkeys(_CHECKSUMS)}}
    }
    bytes_max = 4 * 1024 * 1024

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[CompletedPart] = []
        self._part: dict[str, str] = {}

    def finish(self) -> list[CompletedPart]:
        self.close()
        if not self._parts:
            raise malformed()
        numbers = [part.number for part in self._parts]
        if any(number >= following for number, following in pairwise(numbers)):
            raise S3Error("InvalidPartOrder")
        return self._parts

    def text(self, path: tuple[str, ...], value: str) -> None:
        _set_once(self._part, path[-1], value)

    def closed(self, path: tuple[str, ...]) -> None:
        if len(path) == 2:
            if len(self._parts) == PARTS_MAX:
                raise malformed()
            self._parts.append(_completed(self._part))
            self._part = {}


class DeleteReader(XmlReader):
    """Raises MalformedXML, also for more than a thousand keys or none."""

    schema: ClassVar[Schema] = {
        "Delete": {
            "Quiet": None,
            "Object": {"Key": None, "VersionId": None, "ETag": None, "LastModifiedTime": None, "Size": None},
        }
    }
    bytes_max = 8 * 1024 * 1024  # a thousand keys of a kilobyte, most of it escaped

    def __init__(self) -> None:
        super().__init__()
        self._found = Deletions()
        self._object: dict[str, str] = {}
        self._quiet: dict[str, str] = {}

    def finish(self) -> Deletions:
        self.close()
        if not self._found.objects:
            raise malformed()
        self._found.quiet = _boolean(self._quiet.get("Quiet", "false"))
        return self._found

    def text(self, path: tuple[str, ...], value: str) -> None:
        _set_once(self._quiet if path[-1] == "Quiet" else self._object, path[-1], value)

    def closed(self, path: tuple[str, ...]) -> None:
        if len(path) == 2 and path[-1] == "Object":
            found, self._object = self._object, {}
            if not found.get("Key") or len(self._found.objects) == DELETES_MAX:
                raise malformed()
            etag = unquoted(found["ETag"]) if found.get("ETag") else None
            rest = (found.get(name) or None for name in ("LastModifiedTime", "Size"))
            self._found.objects.append(Deletion(found["Key"], found.get("VersionId") or None, etag, *rest))


class CreateBucketReader(XmlReader):
    """The location, empty if none is named: an empty body is as good."""

    schema: ClassVar[Schema] = {
        "CreateBucketConfiguration": {
            "LocationConstraint": None,
            "Location": {"Name": None, "Type": None},
            "Bucket": {"DataRedundancy": None, "Type": None},
            "Tags": {"Tag": {"Key": None, "Value": None}},
        }
    }
    bytes_max = 64 * 1024

    def __init__(self) -> None:
        super().__init__()
        self._found: dict[str, str] = {}
        self._empty = True

    def feed(self, data: bytes) -> None:
        self._empty = self._empty and not data.strip()
        super().feed(data)

    def finish(self) -> str:
        if not self._empty:
            self.close()
        return self._found.get("LocationConstraint", "").strip()

    def text(self, path: tuple[str, ...], value: str) -> None:
        if len(path) == 2:
            _set_once(self._found, path[-1], value)


def parse_complete(body: bytes) -> list[CompletedPart]:
    reader = CompleteReader()
    reader.feed(body)
    return reader.finish()


def parse_delete(body: bytes) -> Deletions:
    reader = DeleteReader()
    reader.feed(body)
    return reader.finish()


def parse_create_bucket(body: bytes) -> str:
    reader = CreateBucketReader()
    reader.feed(body)
    return reader.finish()


def _completed(found: Mapping[str, str]) -> CompletedPart:
    number = found.get("PartNumber", "").strip()
    if not (number.isascii() and number.isdecimal() and len(number) <= 5 and 1 <= int(number) <= PARTS_MAX):
        raise malformed()
    etag = unquoted(found.get("ETag", ""))
    if not etag:
        raise malformed()
    checksums = {
        algorithm: checked_value(algorithm, found[name].strip())
        for name, algorithm in _CHECKSUMS.items()
        if name in found
    }
    return CompletedPart(int(number), etag, checksums)


def _set_once(values: dict[str, str], name: str, value: str) -> None:
    if name in values:
        raise malformed()
    values[name] = value


def _boolean(text: str) -> bool:
    text = text.strip().lower()
    if text not in ("true", "false", "1", "0"):
        raise malformed()
    return text in ("true", "1")
