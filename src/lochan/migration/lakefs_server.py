"""A lakeFS server, read through its published API."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from base64 import b64encode
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from lochan.errors import Invalid, LochanError, NotFound, Refused, Transient

BASE = "/api/v1"
PAGE = 1_000
_TIMEOUT_S = 60.0
_TRIES = 4
_PAUSE_S = 0.5
_FREE_MAX = 32
_PIECE = 1 << 20
_MESSAGE_LENGTH_MAX = 300  # of a server's text, in our own messages

T = TypeVar("T")


class LakeFSKeys(NamedTuple):
    access_key: str
    secret_key: str

    def __repr__(self) -> str:
        return f"Keys({self.access_key!r})"


class ServerRepository(msgspec.Struct, frozen=True):
    id: str
    default_branch: str
    storage_namespace: str


class ServerRef(msgspec.Struct, frozen=True):
    id: str
    commit_id: str


class ServerCommit(msgspec.Struct, frozen=True):
    id: str
    parents: tuple[str, ...]
    committer: str
    message: str
    creation_date: int  # seconds since 1970
    metadata: dict[str, str] | None = None


class ServerObject(msgspec.Struct, frozen=True):
    path: str
    path_type: str
    physical_address: str
    checksum: str
    mtime: int  # seconds since 1970
    size_bytes: int = 0
    content_type: str = ""
    metadata: dict[str, str] | None = None


class ServerChange(msgspec.Struct, frozen=True):
    type: str  # added, removed, changed, conflict
    path: str
    path_type: str


class _Pagination(msgspec.Struct, frozen=True):
    has_more: bool
    next_offset: str


class _Page(msgspec.Struct, frozen=True):
    pagination: _Pagination
    results: list[msgspec.Raw]


class LakefsServer:
    """A lakeFS server. Threads make its requests, and repeat those that fail on the way, since all of them only
    read."""

    def __init__(self, url: str, keys: LakeFSKeys) -> None:
        """Raises Invalid unless the text is the URL of a server."""
        try:
            parts = urlsplit(url)
            fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # of the host, or of the port
            fits = False
        if not fits:
            raise Invalid(f"{url!r} is no address of a server", hint="such as https://lakefs.example.org")
        self.url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._parts = parts
        token = b64encode(f"{keys.access_key}:{keys.secret_key}".encode()).decode()
        self._headers = {"Authorization": f"Basic {token}", "Accept": "application/json"}
        self._free: deque[http.client.HTTPConnection] = deque(maxlen=_FREE_MAX)  # whose answer was read completely

    # --- what there is ---
    async def repositories(self) -> list[ServerRepository]:
        return [each async for each in self._pages("/repositories", ServerRepository)]

    async def repository(self, name: str) -> ServerRepository:
        return await self._one(f"/repositories/{quote(name, safe='')}", ServerRepository)

    async def branches(self, repository: str) -> list[ServerRef]:
        return [each async for each in self._pages(f"{_of(repository)}/branches", ServerRef)]

    async def tags(self, repository: str) -> list[ServerRef]:
        return [each async for each in self._pages(f"{_of(repository)}/tags", ServerRef)]

    async def commit(self, repository: str, id: str) -> ServerCommit:
        return await self._one(f"{_of(repository)}/commits/{quote(id, safe='')}", ServerCommit)

    def log(self, repository: str, commit: str) -> AsyncIterator[ServerCommit]:
        return self._pages(f"{_of(repository, commit)}/commits", ServerCommit)

    async def has_uncommitted(self, repository: str, branch: str) -> bool:
        path = f"{_of(repository)}/branches/{quote(branch, safe='')}/diff"
        return bool((await self._get(path, _Page, amount="1")).results)

    def objects(self, repository: str, commit: str) -> AsyncIterator[ServerObject]:
        """Yields the objects in path order."""
        return self._pages(f"{_of(repository, commit)}/objects/ls", ServerObject, user_metadata="true")

    async def objects_after(self, repository: str, commit: str, path: str) -> list[ServerObject]:
        """Returns a page of objects."""
        query = {"after": path, "amount": str(PAGE), "user_metadata": "true"}
        page = await self._get(f"{_of(repository, commit)}/objects/ls", _Page, **query)
        return [_decode(each, ServerObject) for each in page.results]

    async def stat(self, repository: str, commit: str, path: str) -> ServerObject:
        return await self._get(f"{_of(repository, commit)}/objects/stat", ServerObject, path=path, user_metadata="true")

    def changes(self, repository: str, left: str, right: str) -> AsyncIterator[ServerChange]:
        """Yields the changes from `left` to `right`, in path order."""
        path = f"{_of(repository, left)}/diff/{quote(right, safe='')}"
        return self._pages(path, ServerChange, type="two_dot")

    async def read(self, repository: str, commit: str, path: str) -> AsyncIterator[bytes]:
        """Yields the bytes of an object. The caller must compare the size, because a lost connection looks like the
        end."""
        import asyncio

        where = f"{_of(repository, commit)}/objects?{urlencode({'path': path})}"
        connection, answer = await asyncio.to_thread(self._ask, where)
        try:
            while piece := await asyncio.to_thread(_piece, answer):
                yield piece
        finally:
            connection.close()

    # --- requests ---
    async def _pages(self, path: str, kind: type[T], **query: str) -> AsyncIterator[T]:
        after = ""
        while True:
            page = await self._get(path, _Page, **query, after=after, amount=str(PAGE))
            for each in page.results:
                yield _decode(each, kind)
            if not page.pagination.has_more:
                return
            if page.pagination.next_offset == after:
                raise Invalid(f"{self.url} answers {path} with the same page again and again")
            after = page.pagination.next_offset

    async def _one(self, path: str, kind: type[T]) -> T:
        return await self._get(path, kind)

    async def _get(self, where: str, kind: type[T], **query: str) -> T:
        import asyncio

        return _decode(await asyncio.to_thread(self._body, f"{where}?{urlencode(query)}"), kind)

    def _body(self, path: str) -> bytes:
        for tries_left in reversed(range(_TRIES)):
            connection, answer = self._ask(path)
            try:
                data = answer.read()
            except (http.client.HTTPException, OSError) as error:
                connection.close()
                if not tries_left:
                    raise Transient(f"{self.url} breaks off: {error}", hint="try again") from error
                continue
            self._free.append(connection)
            return data
        raise AssertionError("unreachable")

    def _ask(self, path: str) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Sends a request. Raises NotFound, Refused, Transient or Invalid."""
        for tries_left in reversed(range(_TRIES)):
            connection = self._connection()
            try:
                connection.request("GET", f"{self._parts.path.rstrip('/')}{BASE}{path}", headers=self._headers)
                answer = connection.getresponse()
                if answer.status == http.client.OK:
                    return connection, answer
                problem = _problem(self.url, path, answer)
            except (http.client.HTTPException, OSError) as error:
                problem = Transient(f"{self.url} cannot be reached: {error}", hint="is the address right?")
            connection.close()
            if not isinstance(problem, Transient) or not tries_left:
                raise problem
            time.sleep(_PAUSE_S * (_TRIES - tries_left))
        raise AssertionError("unreachable")

    def _connection(self) -> http.client.HTTPConnection:
        with suppress(IndexError):
            return self._free.pop()
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(host, port, timeout=_TIMEOUT_S, context=context)
        return http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)


def _of(repository: str, ref: str = "") -> str:
    path = f"/repositories/{quote(repository, safe='')}"
    return f"{path}/refs/{quote(ref, safe='')}" if ref else path


def _decode(data: bytes | msgspec.Raw, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError as error:
        raise Invalid(f"the server's answer is not that of a lakeFS: {error}", hint="is the address right?") from None


def _piece(answer: http.client.HTTPResponse) -> bytes:
    try:
        return answer.read(_PIECE)
    except (http.client.HTTPException, OSError) as error:
        raise Transient(f"a body breaks off: {error}", hint="run it again: it goes on where it was") from error


def _problem(url: str, path: str, answer: http.client.HTTPResponse) -> LochanError:
    said = _message(answer.read(1 << 16))
    where = f"{url} answers {answer.status}"
    match answer.status:
        case 401 | 403:
            return Refused(f"{where}: {said}", hint="are the access key and the secret right, and may they read?")
        case 404:
            return NotFound(f"{where} to {path.partition('?')[0]}: {said}", hint="is it the address of a lakeFS?")
        case 408 | 425 | 429 | 500 | 502 | 503 | 504:
            return Transient(f"{where}: {said}", hint="try again")
        case _:
            return Invalid(f"{where}: {said}")


def _message(body: bytes) -> str:
    with suppress(ValueError):
        told: Any = json.loads(body)
        if isinstance(told, Mapping) and isinstance(told.get("message"), str):
            return str(told["message"])[:_MESSAGE_LENGTH_MAX]
    return body.decode(errors="replace")[:_MESSAGE_LENGTH_MAX].strip() or "nothing more"
