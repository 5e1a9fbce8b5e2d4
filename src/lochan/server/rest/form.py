"""Reads the bytes of an upload: the whole body, or the field `content` of a form."""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.requests import Request

from lochan.server.api.errors import HttpError

_FORM = "multipart/form-data"
_HEAD_BYTES_MAX = 16 << 10
_FIELD = b'name="content"'


async def form_content(request: Request) -> tuple[str, AsyncIterator[bytes]]:
    """Returns the content type and the bytes, as they arrive. Raises 400."""
    media = request.headers.get("content-type", "")
    if media.partition(";")[0].strip().lower() != _FORM:
        return media, request.stream()
    boundary = _boundary(media)
    form = _Form(request.stream(), b"--" + boundary)
    return await form.begin(), form.content()


def _boundary(media: str) -> bytes:
    for part in media.split(";")[1:]:
        name, _, value = part.strip().partition("=")
        if name.lower() == "boundary" and value.strip('"'):
            return value.strip('"').encode("latin-1", errors="replace")
    raise HttpError(400, "the form has no boundary in its content type")


class _Form:
    """Reads a form up to the field and yields the bytes of the field in pieces. It never holds more than one piece."""

    def __init__(self, pieces: AsyncIterator[bytes], delimiter: bytes) -> None:
        self._pieces = pieces
        self._delimiter = delimiter
        self._left = b"\r\n"  # makes the first delimiter look like the others
        self._over = False

    async def begin(self) -> str:
        """Skips to the field. Returns its content type."""
        while True:
            await self._skip(b"\r\n" + self._delimiter)
            head = await self._head()
            if _FIELD in head.lower().replace(b"'", b'"'):
                return _content_type(head)

    async def content(self) -> AsyncIterator[bytes]:
        end = b"\r\n" + self._delimiter
        while True:
            at = self._left.find(end)
            if at >= 0:
                if at:
                    yield self._left[:at]
                break
            keep = len(end) - 1
            if len(self._left) > keep:
                ready, self._left = self._left[:-keep], self._left[-keep:]
                yield ready
            await self._more()
        async for _ in self._pieces:  # skips what follows the field
            pass

    async def _skip(self, mark: bytes) -> None:
        while (at := self._left.find(mark)) < 0:
            self._left = self._left[-len(mark) + 1 :]
            await self._more()
        self._left = self._left[at + len(mark) :]

    async def _head(self) -> bytes:
        while (at := self._left.find(b"\r\n\r\n")) < 0:
            if self._left.startswith(b"--") or len(self._left) > _HEAD_BYTES_MAX:
                raise HttpError(400, "the form has no field `content`")
            await self._more()
        if self._left.startswith(b"--"):
            raise HttpError(400, "the form has no field `content`")
        head, self._left = self._left[:at], self._left[at + 4 :]
        return head

    async def _more(self) -> None:
        piece = await anext(self._pieces, None)
        if piece is None:
            raise HttpError(400, "the form ends before its field `content` does")
        self._left += piece


def _content_type(head: bytes) -> str:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-type":
            return value.strip().decode("latin-1")
    return ""
