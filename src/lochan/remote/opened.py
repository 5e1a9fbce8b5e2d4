"""An object of a remote lake as it was when it was opened. Its bytes are requested by its ETag: if another object has
come to its path, the request is refused, so bytes are never mixed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from lochan.api.conditions import Conditions
from lochan.api.object_results import ObjectInfo
from lochan.api.results import microseconds
from lochan.api.wire.call import EMPTY_NAME, wire_calls
from lochan.api.wire.values import OpenedInfo

if TYPE_CHECKING:
    from lochan.remote.nouns import RemoteNoun


class RemoteOpenObject:
    """The object that `Ref.open` returns. It need not be closed."""

    def __init__(self, ref: RemoteNoun, info: OpenedInfo) -> None:
        self._ref = ref
        self._info = info

    @classmethod
    def of(cls, ref: RemoteNoun, found: ObjectInfo) -> RemoteOpenObject:
        """Returns an object that was listed."""
        more = {name: getattr(found, name) for name in OpenedInfo.__struct_fields__ if hasattr(found, name)}
        return cls(ref, OpenedInfo(**{"headers": {}, **more}))

    def __repr__(self) -> str:
        return f"<OpenObject {self.path}>"

    @property
    def path(self) -> str:
        return self._info.path

    @property
    def size(self) -> int:
        return self._info.size

    @property
    def etag(self) -> str:
        return self._info.etag

    @property
    def mtime(self) -> datetime:
        return self._info.mtime

    @property
    def mtime_us(self) -> int:
        return microseconds(self.mtime)

    @property
    def content_type(self) -> str:
        return self._info.content_type

    @property
    def headers(self) -> Mapping[str, str]:
        return self._info.headers

    @property
    def metadata(self) -> Mapping[str, str]:
        return self._info.metadata

    @property
    def checksums(self) -> Mapping[str, str]:
        return self._info.checksums

    @property
    def parts(self) -> tuple[int, ...]:
        return self._info.parts

    def check(self, conditions: Conditions) -> None:
        """Raises ConditionFailed if a condition does not hold."""
        conditions.check(self.path, _Checked(self))

    async def stream(
        self, start: int = 0, stop: int | None = None, *, piece_bytes: Callable[[], int] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yields its bytes in pieces. Raises PreconditionFailed if the object has been replaced since."""
        path = wire_calls()["Ref", "stream"].path
        for name in ("repository", "ref"):
            path = path.replace(f"{{{name}}}", quote(self._ref.names[name] or EMPTY_NAME, safe=""))
        span = {"start": start} if stop is None else {"start": start, "stop": stop}
        target = f"{path}?{urlencode({'path': self.path, **span})}"
        answer = await self._ref._server.answer("GET", target, headers={"if-match": f'"{self.etag}"'})
        async with aclosing(answer.pieces()) as pieces:
            async for piece in pieces:
                yield piece

    async def read(self, start: int = 0, stop: int | None = None) -> bytes:
        """Returns all bytes at once. Raises the same as `stream`."""
        return b"".join([piece async for piece in self.stream(start, stop)])


class _Checked:
    """An object in the form in which conditions read it."""

    def __init__(self, found: Any) -> None:
        self.etag: str = found.etag
        self.mtime: int = found.mtime_us
        self.size: int = found.size
