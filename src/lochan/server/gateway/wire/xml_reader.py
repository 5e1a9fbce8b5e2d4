"""Reads an XML document as it comes, by a schema, within limits. Nothing is expanded, and nothing is kept but values.

A document type, and with it every entity of one's own, is refused. So is an element that the schema does not know,
which bounds the depth; a token of a hundred kilobytes, which bounds what the parser keeps; and all but UTF-8.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, NoReturn
from xml.parsers import expat

from lochan.server.gateway.wire.errors import S3Error

NAMESPACE: Final = "http://s3.amazonaws.com/doc/2006-03-01/"
TEXT_CHARS_MAX: Final = 8192
TOKEN_BYTES_MAX: Final = 64 * 1024

_NAMESPACES = ("", NAMESPACE, NAMESPACE.rstrip("/"))
_SLICE_BYTES = 16 * 1024
_ENCODINGS = (None, "utf-8", "utf8", "us-ascii", "ascii")

Schema = Mapping[str, "Schema | None"]  # the children of an element; None is text


class XmlReader:
    """A subclass says what its elements mean: those with text in `text`, the others in `closed`, by their path."""

    schema: ClassVar[Schema]  # of one element, the root
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
        """Raises MalformedXML as soon as it is, however much would follow."""
        self._bytes += len(data)
        # A NUL stands in every document of UTF-16, which the parser would take unasked, and in none of UTF-8.
        if self._bytes > self.bytes_max or b"\0" in data:
            raise malformed()
        before = self._bytes - len(data)
        for at in range(0, len(data), _SLICE_BYTES):
            self._parse(data[at : at + _SLICE_BYTES], last=False)
            # What the parser has not told of yet is the beginning of a token that it keeps.
            if before + at + _SLICE_BYTES - self._parser.CurrentByteIndex > TOKEN_BYTES_MAX + _SLICE_BYTES:
                raise malformed()

    def close(self) -> None:
        """The end of the document. Raises MalformedXML if it is not complete."""
        self._parse(b"", last=True)

    def closed(self, path: tuple[str, ...]) -> None: ...

    def text(self, path: tuple[str, ...], value: str) -> None: ...

    def _parse(self, data: bytes, last: bool) -> None:
        try:
            self._parser.Parse(data, last)
        except expat.ExpatError:
            raise malformed() from None

    def _on_declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if (encoding.lower() if encoding else None) not in _ENCODINGS:
            raise malformed()

    def _on_start(self, name: str, attributes: object) -> None:
        namespace, _, local = name.rpartition(" ")
        schema = self._schemas[-1]
        if schema is None or local not in schema or namespace not in _NAMESPACES:
            raise malformed()
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
            text = text.strip()  # the indentation between elements
            if not text:
                return
        self._text_chars += len(text)
        if self._text_chars > TEXT_CHARS_MAX:
            raise malformed()
        self._text.append(text)

    def _refuse_stray_text(self) -> None:
        if self._text:
            raise malformed()


def malformed() -> S3Error:
    return S3Error("MalformedXML")


def _refuse(*declared: Any) -> NoReturn:
    raise malformed()
