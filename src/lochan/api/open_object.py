"""An object as it was when it was opened: its bytes are read even if another object comes to the path."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from datetime import datetime
from typing import TYPE_CHECKING

from lochan.api.conditions import Conditions
from lochan.api.object_results import object_checksums, own_metadata
from lochan.api.results import moment

if TYPE_CHECKING:
    from lochan.formats.entry import Entry
    from lochan.versioning.bodies.read import BodyReader


class OpenObject:
    """An open object, as `Ref.open` returns it. There is nothing to close."""

    __slots__ = ("_entry", "_reader")

    def __init__(self, reader: BodyReader, entry: Entry) -> None:
        self._reader = reader
        self._entry = entry

    def __repr__(self) -> str:
        return f"<OpenObject {self.path}>"

    @property
    def path(self) -> str:
        return self._entry.path

    @property
    def size(self) -> int:
        return self._entry.size

    @property
    def etag(self) -> str:
        return self._entry.etag

    @property
    def mtime(self) -> datetime:
        return moment(self._entry.mtime)

    @property
    def mtime_us(self) -> int:
        """The time of the object, in microseconds since 1970."""
        return self._entry.mtime

    @property
    def content_type(self) -> str:
        return self._entry.content_type

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, such as Cache-Control, by lower-case name."""
        return self._entry.headers

    @property
    def metadata(self) -> Mapping[str, str]:
        """The metadata that the user has given."""
        return own_metadata(self._entry)

    @property
    def checksums(self) -> Mapping[str, str]:
        """The additional checksums of S3, in base64 by algorithm."""
        return object_checksums(self._entry)

    @property
    def parts(self) -> tuple[int, ...]:
        """The sizes of the parts that it was uploaded in; empty if it was uploaded in one piece."""
        return self._entry.parts

    def check(self, conditions: Conditions) -> None:
        """Raises ConditionFailed if the object does not meet the conditions."""
        conditions.check(self.path, self._entry)

    async def stream(
        self, start: int = 0, stop: int | None = None, *, piece_bytes: Callable[[], int] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yields its bytes in pieces, checked against what was stored. `piece_bytes` returns how large each piece may
        be. Raises Gone, Corrupt, Invalid for a span outside of it."""
        async with aclosing(self._reader.read(self._entry, start, stop, piece_bytes=piece_bytes)) as pieces:
            async for piece in pieces:
                yield piece

    async def read(self, start: int = 0, stop: int | None = None) -> bytes:
        """Returns all of its bytes at once. Raises as `stream` does."""
        if start == 0 and stop in (None, self.size):
            return await self._reader.read_all(self._entry) if self.size else b""
        return b"".join([piece async for piece in self.stream(start, stop)])
