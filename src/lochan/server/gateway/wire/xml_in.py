"""Reads an XML document as it arrives, by a schema and within limits. Nothing is expanded, and only values are kept.

A document type is refused, and with it every custom entity. Also refused are an element that the schema does not know,
which limits the depth; a token of a hundred kilobytes, which limits what the parser keeps; and any encoding but UTF-8.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Final, NamedTuple, NoReturn
from xml.parsers import expat

from lochan.server.gateway.wire.checksums import HASHERS, checked_value
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.header_values import unquote_etag

NAMESPACE: Final = "http://s3.amazonaws.com/doc/2006-03-01/"
TEXT_CHARS_MAX: Final = 8192
TOKEN_BYTES_MAX: Final = 64 * 1024

_NAMESPACES = ("", NAMESPACE, NAMESPACE.rstrip("/"))
_SLICE_BYTES = 16 * 1024
_ENCODINGS = (None, "utf-8", "utf8", "us-ascii", "ascii")

Schema = Mapping[str, "Schema | None"]  # the children of an element; None means text
PARTS_MAX: Final = 10_000
DELETES_MAX: Final = 1_000

_CHECKSUMS: Final[Mapping[str, str]] = {f"Checksum{name}": name for name in HASHERS}


class XmlReader:
    """Reads a document. A subclass says what its elements mean: those with text in `text`, and the others in `closed`,
    by their path."""

    schema: ClassVar[Schema]  # the schema of one element, the root
    bytes_max: ClassVar[int]

    def __init__(self) -> None:
        self._bytes = 0
        self._paths: list[tuple[str, ...]] = [()]
        self._schemas: list[Schema | None] = [self.schema]
        self._text: list[str] = []
        self._text_chars = 0
        self._parser = parser = expat.ParserCreate("utf-8", " ")
        parser.buffer_text = True
        parser.XmlDeclHandler = self._on_declaration
        parser.StartDoctypeDeclHandler = _refuse
        parser.EntityDeclHandler = _refuse
        parser.StartElementHandler = self._on_start
        parser.EndElementHandler = self._on_end
        parser.CharacterDataHandler = self._on_text

    def feed(self, data: bytes) -> None:
        """Takes a piece of the document. Raises MalformedXML as soon as it is malformed, however much would follow."""
        self._bytes += len(data)
        # Every document of UTF-16 contains a NUL, and none of UTF-8 does. The parser would accept UTF-16 unasked.
        if self._bytes > self.bytes_max or b"\0" in data:
            raise malformed_error()
        before = self._bytes - len(data)
        for at in range(0, len(data), _SLICE_BYTES):
            self._parse(data[at : at + _SLICE_BYTES], last=False)
            # What the parser has not reported yet is the beginning of a token that it keeps.
            if before + at + _SLICE_BYTES - self._parser.CurrentByteIndex > TOKEN_BYTES_MAX + _SLICE_BYTES:
                raise malformed_error()

    def close(self) -> None:
        """Ends the document. Raises MalformedXML if it is not complete."""
        self._parse(b"", last=True)

    def closed(self, path: tuple[str, ...]) -> None: ...

    def text(self, path: tuple[str, ...], value: str) -> None: ...

    def _parse(self, data: bytes, last: bool) -> None:
        try:
            self._parser.Parse(data, last)
        except expat.ExpatError:
            raise malformed_error() from None

    def _on_declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if (encoding.lower() if encoding else None) not in _ENCODINGS:
            raise malformed_error()

    def _on_start(self, name: str, attributes: object) -> None:
        namespace, _, local = name.rpartition(" ")
        schema = self._schemas[-1]
        if schema is None or local not in schema or namespace not in _NAMESPACES:
            raise malformed_error()
        self._refuse_stray_text()
        self._paths.append((*self._paths[-1], local))
        self._schemas.append(schema[local])

    def _on_end(self, name: str) -> None:
        path = self._paths.pop()
        if self._schemas.pop() is None:
            self.text(path, "".join(self._text))
            self._text.clear()
            self._text_chars = 0
        else:
            self._refuse_stray_text()
            self.closed(path)

    def _on_text(self, text: str) -> None:
        if self._schemas[-1] is not None:
            text = text.strip()  # removes the indentation between elements
            if not text:
                return
        self._text_chars += len(text)
        if self._text_chars > TEXT_CHARS_MAX:
            raise malformed_error()
        self._text.append(text)

    def _refuse_stray_text(self) -> None:
        if self._text:
            raise malformed_error()


def malformed_error() -> S3Error:
    return S3Error("MalformedXML")


def _refuse(*declared: Any) -> NoReturn:
    raise malformed_error()


class CompletedPart(NamedTuple):
    number: int
    etag: str  # without quotes
    checksums: Mapping[str, str]  # in base64, by the algorithm


class Deletion(NamedTuple):
    key: str
    version: str | None = None
    etag: str | None = None  # if given, only an object with this tag is deleted
    modified: str | None = None
    size: str | None = None


@dataclass(slots=True)
class Deletions:
    objects: list[Deletion] = field(default_factory=list)
    quiet: bool = False


class CompleteReader(XmlReader):
    """Reads the parts, in ascending order. Raises MalformedXML or InvalidPartOrder."""

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
            raise malformed_error()
        numbers = [part.number for part in self._parts]
        if any(number >= following for number, following in pairwise(numbers)):
            raise S3Error("InvalidPartOrder")
        return self._parts

    def text(self, path: tuple[str, ...], value: str) -> None:
        _set_once(self._part, path[-1], value)

    def closed(self, path: tuple[str, ...]) -> None:
        if len(path) == 2:
            if len(self._parts) == PARTS_MAX:
                raise malformed_error()
            self._parts.append(_completed_part(self._part))
            self._part = {}


class DeleteReader(XmlReader):
    """Reads the keys. Raises MalformedXML, also if there are more than a thousand or none."""

    schema: ClassVar[Schema] = {
        "Delete": {
            "Quiet": None,
            "Object": {"Key": None, "VersionId": None, "ETag": None, "LastModifiedTime": None, "Size": None},
        }
    }
    bytes_max = 8 * 1024 * 1024  # a thousand keys of a kilobyte, most of them escaped

    def __init__(self) -> None:
        super().__init__()
        self._found = Deletions()
        self._object: dict[str, str] = {}
        self._quiet: dict[str, str] = {}

    def finish(self) -> Deletions:
        self.close()
        if not self._found.objects:
            raise malformed_error()
        self._found.quiet = _boolean(self._quiet.get("Quiet", "false"))
        return self._found

    def text(self, path: tuple[str, ...], value: str) -> None:
        _set_once(self._quiet if path[-1] == "Quiet" else self._object, path[-1], value)

    def closed(self, path: tuple[str, ...]) -> None:
        if len(path) == 2 and path[-1] == "Object":
            found, self._object = self._object, {}
            if not found.get("Key") or len(self._found.objects) == DELETES_MAX:
                raise malformed_error()
            etag = unquote_etag(found["ETag"]) if found.get("ETag") else None
            rest = (found.get(name) or None for name in ("LastModifiedTime", "Size"))
            self._found.objects.append(Deletion(found["Key"], found.get("VersionId") or None, etag, *rest))


class CreateBucketReader(XmlReader):
    """Reads the location, which is empty if none is named. An empty body is also accepted."""

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


def _completed_part(found: Mapping[str, str]) -> CompletedPart:
    number = found.get("PartNumber", "").strip()
    if not (number.isascii() and number.isdecimal() and len(number) <= 5 and 1 <= int(number) <= PARTS_MAX):
        raise malformed_error()
    etag = unquote_etag(found.get("ETag", ""))
    if not etag:
        raise malformed_error()
    checksums = {
        algorithm: checked_value(algorithm, found[name].strip())
        for name, algorithm in _CHECKSUMS.items()
        if name in found
    }
    return CompletedPart(int(number), etag, checksums)


def _set_once(values: dict[str, str], name: str, value: str) -> None:
    if name in values:
        raise malformed_error()
    values[name] = value


def _boolean(text: str) -> bool:
    text = text.strip().lower()
    if text not in ("true", "false", "1", "0"):
        raise malformed_error()
    return text in ("true", "1")
