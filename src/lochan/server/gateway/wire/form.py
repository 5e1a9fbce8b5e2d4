r"""Takes apart forms of a browser, `multipart/form-data`, as they arrive: some fields, then a file.

    --boundary\r\n Content-Disposition: form-data; name="key"\r\n \r\n user/${filename}
    \r\n--boundary\r\n Content-Disposition: form-data; name="file"; filename="cat.png"\r\n \r\n <the file>
    \r\n--boundary--\r\n

As in S3, the file is the last field that counts. What follows it is not read.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from lochan.server.gateway.wire.errors import S3Error

FORM_TYPE: Final = "multipart/form-data"
FIELDS_BYTES_MAX: Final = 20 * 1024
FIELDS_MAX: Final = 100

_BOUNDARY = re.compile(r';[ \t]*boundary=(?:"([^"\r\n]{1,200})"|([^\s;"]{1,200}))', re.IGNORECASE)
_NAME = re.compile(r';[ \t]*name="([^"]*)"', re.IGNORECASE)
_FILENAME = re.compile(r';[ \t]*filename="([^"]*)"', re.IGNORECASE)


class FormReader:
    """Reads a form. `feed` yields the file. By its first piece, or by `finish`, the `fields` are complete and can be
    judged.

    It keeps in memory the fields, within their limit, and less than a boundary of the file.
    """

    def __init__(self, content_type: str) -> None:
        boundary = _BOUNDARY.search(content_type)
        if not content_type.lower().startswith(FORM_TYPE) or boundary is None:
            raise S3Error("MalformedPOSTRequest", "The Content-Type is not multipart/form-data with a boundary.")
        self._delimiter = b"\r\n--" + (boundary[1] or boundary[2]).encode("latin-1", "replace")
        self._buffer = bytearray(b"\r\n")  # the first boundary may be at the very beginning
        self._before_file = 0
        self._name = ""
        self._state: Callable[[], bool] = self._on_preamble
        self.fields: list[tuple[str, str]] = []
        self.filename = ""
        self.file_type = ""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yields what has arrived of the file. Raises MalformedPOSTRequest and MaxPostPreDataLengthExceededError."""
        if self._state == self._on_rest:
            return
        self._buffer += data
        while self._state():
            pass
        if self._state == self._on_file:
            yield from self._file_pieces()
        elif self._before_file + len(self._buffer) > FIELDS_BYTES_MAX:
            raise S3Error("MaxPostPreDataLengthExceededError")

    @property
    def at_file(self) -> bool:
        """Whether the fields are complete and the file has begun, or has already arrived."""
        return self._state in (self._on_file, self._on_rest)

    def finish(self) -> None:
        """Raises IncompleteBody if the file has no end, and InvalidArgument if there is no file."""
        if self._state == self._on_end_of_form:
            message = "POST requires exactly one file upload per request."
            raise S3Error("InvalidArgument", message, ArgumentName="file", ArgumentValue="0")
        if self._state != self._on_rest:
            raise S3Error("IncompleteBody", "The form ends before its file ends.")

    def _on_preamble(self) -> bool:
        """Ignores whatever is in front of the first boundary."""
        if self._through(self._delimiter) is None:
            return False
        self._state = self._on_boundary_end
        return True

    def _on_boundary_end(self) -> bool:
        """Reads what follows a boundary: a line end, or two dashes at the end of the form."""
        if len(self._buffer) < 2:
            return False
        if self._buffer.startswith(b"--"):
            self._state = self._on_end_of_form
        elif self._buffer.startswith(b"\r\n"):
            self._state = self._on_headers
        else:
            raise _malformed_error("a boundary does not end its line")
        return True

    def _on_headers(self) -> bool:
        # The line end of the boundary is left in front, so that a part without headers ends like the others.
        head = self._through(b"\r\n\r\n")
        if head is None:
            return False
        disposition, kind = _headers(head)
        name = _NAME.search(disposition)
        if name is None or len(self.fields) == FIELDS_MAX:
            raise _malformed_error("a part has no name, or there are too many")
        self._name = name[1]
        if self._name.lower() != "file":
            self._state = self._on_value
            return True
        filename = _FILENAME.search(disposition)
        self.filename, self.file_type = filename[1] if filename else "", kind
        self._state = self._on_file
        return True

    def _on_value(self) -> bool:
        value = self._through(self._delimiter)
        if value is None:
            return False
        self.fields.append((self._name, _text(value)))
        self._state = self._on_boundary_end
        return True

    # These states have nothing more to find before the file: in its own bytes, in what follows it, and at the end of a
    # form without one.
    def _on_file(self) -> bool:
        return False

    def _on_rest(self) -> bool:
        return False

    def _on_end_of_form(self) -> bool:
        return False

    def _file_pieces(self) -> Iterator[bytes]:
        """Yields what is surely not a boundary. The bytes of one that may have begun stay in the buffer."""
        end = self._buffer.find(self._delimiter)
        stop = end if end >= 0 else len(self._buffer) - len(self._delimiter) + 1
        if stop > 0:
            piece = bytes(self._buffer[:stop])
            del self._buffer[:stop]
            yield piece
        if end >= 0:
            self._buffer.clear()
            self._state = self._on_rest

    def _through(self, mark: bytes) -> bytes | None:
        """Takes the mark and what is in front of it. Returns the latter, or None if the mark has not arrived yet."""
        at = self._buffer.find(mark)
        if at < 0:
            return None
        found = bytes(self._buffer[:at])
        del self._buffer[: at + len(mark)]
        self._before_file += at + len(mark)
        if self._before_file > FIELDS_BYTES_MAX:
            raise S3Error("MaxPostPreDataLengthExceededError")
        return found


def _headers(head: bytes) -> tuple[str, str]:
    """Returns Content-Disposition and Content-Type of a part."""
    found = {"content-disposition": "", "content-type": ""}
    for line in _text(head).split("\r\n"):
        name, _, value = line.partition(":")
        found[name.strip().lower()] = value.strip()
    return found["content-disposition"], found["content-type"]


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise _malformed_error("a field is not UTF-8") from None


def _malformed_error(what: str) -> S3Error:
    return S3Error("MalformedPOSTRequest", f"The form is not well-formed: {what}.")
