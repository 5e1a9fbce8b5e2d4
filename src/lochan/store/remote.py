"""Objects in S3, Google Cloud Storage or Azure, through obstore. Its own retries are off: a repeated conditional write
would meet itself and look like a conflict. `retry.py` repeats the verbs for which that is safe.
"""

import re
from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from copy import copy
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, Self

import obstore
from obstore.store import ObjectStore

from lochan.errors import Invalid, LochanError, Refused, Transient
from lochan.store.clouds import RAISED, UNORDERED, for_urls, status_of, translate
from lochan.store.protocol import PATH_BYTES_MAX, Stat, check_path, check_span

if TYPE_CHECKING:
    import pyarrow as pa
    from obstore import GetOptions, ObjectMeta


_PART = 8 << 20  # bytes of one part of a multipart upload, which S3 limits to 10,000 parts, and of a streamed read
_PARTS_AT_ONCE = 3
_PAGE = 1000  # objects that the stores return per list request
_TABLE_ROWS = 10 * _PAGE  # a table costs the same, however many rows it has
_AZURE_REFUSED = re.compile(r"\\|\.(?:/|$)")
_AZURE_RULE = "Azure takes a backslash for a slash, and drops a dot at the end of a segment"
_PAST_END = "Wanted range starting at"  # obstore's own check: Azure answers 206 to a range that begins at the very end


class RemoteStore:
    def __init__(self, raw: ObjectStore, url: str) -> None:
        self._raw = raw
        self._url = url.rstrip("/")
        self._is_azure = url.startswith("az://")
        self._tags: dict[str, str] | None = None
        self._path_bytes_max = PATH_BYTES_MAX - len(f"{getattr(raw, 'prefix', None) or ''}/".encode())

    @property
    def url(self) -> str:
        return self._url

    async def get(self, path: str) -> bytes:
        self._check(path)
        try:
            answer = await obstore.get_async(self._raw, path)
            data = bytes(await answer.bytes_async())
        except RAISED as error:
            raise translate(error, self._url, path) from error
        return self._whole(path, data, answer.meta["size"])

    async def get_range(self, path: str, start: int, stop: int) -> bytes:
        self._check(path)
        check_span(path, start, stop)
        if start == stop:  # because no store answers an empty range
            check_span(path, start, stop, (await self.head(path)).size)
            return b""
        data, stat = await self._span(path, start, stop)
        check_span(path, start, stop, stat.size)
        return self._whole(path, data, stop - start)

    async def get_stream(self, path: str) -> AsyncIterator[bytes]:
        """Reads an object by one request for each part, all of the same version. A slow reader keeps no connection
        open."""
        self._check(path)
        stat = None
        start = 0
        while stat is None or start < stat.size:
            etag = stat.etag if stat else ""
            try:
                data, stat = await self._span(path, start, start + _PART, etag)
            except Invalid:  # the first part is past the end, so the object is empty
                if start == 0 and (await self.head(path)).size == 0:
                    return
                raise
            yield self._whole(path, data, min(_PART, stat.size - start))
            start += len(data)

    async def head(self, path: str) -> Stat:
        self._check(path)
        try:
            return _stat(await obstore.head_async(self._raw, path))
        except FileNotFoundError:
            pass  # the answer to a HEAD has no body, so a missing object looks like a missing bucket
        except RAISED as error:
            raise translate(error, self._url, path) from error
        try:
            return _stat((await obstore.get_async(self._raw, path)).meta)
        except RAISED as error:
            raise translate(error, self._url, path) from error

    async def put(self, path: str, data: bytes) -> None:
        self._check(path)
        await self._send(path, data, in_parts=len(data) > 2 * _PART)  # each request has to finish within its timeout

    async def put_if_absent(self, path: str, data: bytes) -> None:
        self._check(path)
        try:
            await obstore.put_async(self._raw, path, data, mode="create", use_multipart=False)
        except RAISED as error:
            raise translate(error, self._url, path, writing=True, creating=True) from error

    async def put_stream(self, path: str, chunks: AsyncIterable[bytes]) -> int:
        """Writes a stream. One that fits into one part is one request. A cancelled caller may leave parts of an
        unfinished upload, which readers do not see; a lifecycle rule of the bucket removes them."""
        self._check(path)
        upload = CountedUpload(chunks)
        first = await upload.up_to(_PART)
        if upload.ended:
            await self._send(path, first, in_parts=False)
            return upload.size
        try:
            await self._send(path, upload.rest(first), in_parts=True)
        except LochanError:
            if upload.error is not None:
                raise upload.error from None
            raise
        return upload.size

    async def delete(self, path: str) -> None:
        self._check(path)
        try:
            await obstore.delete_async(self._raw, path)
        except RAISED as error:
            problem = translate(error, self._url, path)
            if not isinstance(error, FileNotFoundError) or isinstance(problem, Refused):
                raise problem from error

    async def signed_url(self, method: str, path: str, expires_s: float) -> str:
        self._check(path)
        verb: Literal["GET", "PUT"] = "PUT" if method == "PUT" else "GET"
        try:
            return await obstore.sign_async(for_urls(self._raw), verb, path, timedelta(seconds=expires_s))
        except RAISED:  # a token of a machine or of a container signs nothing
            return ""

    async def copy(self, source: str, target: str) -> None:
        self._check(source)
        self._check(target)
        try:
            await obstore.copy_async(self._raw, source, target)
        except RAISED as error:
            raise translate(error, self._url, source) from error

    async def delete_many(self, paths: Sequence[str]) -> None:
        """Deletes objects. S3 takes a thousand in one request; for other stores, requests are sent in parallel."""
        for path in paths:
            self._check(path)
        try:
            await obstore.delete_async(self._raw, [*paths])
        except RAISED as error:
            raise translate(error, self._url, paths[0]) from error

    async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        folder = prefix.rpartition("/")[0]
        if folder and not _valid(folder):
            return
        pages = obstore.list(self._raw, folder or None, offset=_offset(prefix, after), chunk_size=_PAGE)
        last = ""
        try:
            async for page in pages:
                for meta in page:
                    path = meta["path"]
                    if path < last:
                        if meta["size"] == 0 and f"{path}/" > last:
                            continue  # a console's marker of an empty folder, whose last slash obstore has dropped
                        raise Refused(f"{self._url} does not list its objects in order", hint=UNORDERED)
                    last = path
                    if path > prefix and not path.startswith(prefix):
                        return
                    if path.startswith(prefix) and path > after:
                        yield _stat(meta)
        except RAISED as error:
            raise translate(error, self._url, prefix) from error

    async def list_tables(self, prefix: str = "", after: str = "") -> "AsyncIterator[pa.Table]":
        """Lists tables. A page is examined row by row only if something in it is out of order."""
        from lochan.store.remote_pages import ListedPages

        folder = prefix.rpartition("/")[0]
        if folder and not _valid(folder):
            return
        found = ListedPages(self._url, prefix, after)
        offset = _offset(prefix, after)
        pages = obstore.list(self._raw, folder or None, offset=offset, chunk_size=_TABLE_ROWS, return_arrow=True)
        try:
            async for page in pages:
                table = found.table(page)
                if len(table):
                    yield table
                if found.ended:
                    return
        except RAISED as error:
            raise translate(error, self._url, prefix) from error

    def tagged(self, tags: Mapping[str, str]) -> Self:
        other = copy(self)
        other._tags = dict(tags)
        return other

    async def _send(self, path: str, body: bytes | AsyncIterator[bytes], *, in_parts: bool) -> None:
        try:
            await obstore.put_async(
                self._raw,
                path,
                body,
                tags=self._tags,
                use_multipart=in_parts,
                chunk_size=_PART,
                max_concurrency=_PARTS_AT_ONCE,
            )
        except RAISED as error:
            raise translate(error, self._url, path, writing=True) from error

    async def _span(self, path: str, start: int, stop: int, etag: str = "") -> tuple[bytes, Stat]:
        """Returns as much of the span as there is, of the version that `etag` names. Raises Invalid if there is
        nothing."""
        try:
            options: GetOptions = {"range": (start, stop)}
            if etag:
                options["if_match"] = etag
            answer = await obstore.get_async(self._raw, path, options=options)
            return bytes(await answer.bytes_async()), _stat(answer.meta)
        except RAISED as error:
            if status_of(error) == 416 or _PAST_END in str(error):
                raise Invalid(f"bytes {start} to {stop} are past the end of {path}") from error
            raise translate(error, self._url, path) from error

    def _whole(self, path: str, data: bytes, size: int) -> bytes:
        """Checks that all bytes have arrived: obstore accepts a body that is shorter than the answer's headers
        promise."""
        if len(data) != size:
            raise Transient(f"{self._url}/{path}: {len(data)} bytes arrived instead of {size}")
        return data

    def _check(self, path: str) -> None:
        if len(check_path(path)) > self._path_bytes_max:
            raise Invalid(f"the path is too long for {self._url}: {path[:80]!r}…")
        if self._is_azure and _AZURE_REFUSED.search(path):
            raise Invalid(f"the path {path!r} cannot be stored in {self._url}", hint=_AZURE_RULE)


def _stat(meta: "ObjectMeta") -> Stat:
    return Stat(meta["path"], meta["size"], meta["last_modified"].timestamp(), _quote_etag(meta["e_tag"] or ""))


def _quote_etag(etag: str) -> str:
    """Adds the quotes that are part of an ETag, and that a condition needs. Azure's lists leave them out."""
    return f'"{etag}"' if etag and not etag.endswith('"') else etag


def _offset(prefix: str, after: str) -> str | None:
    """Returns a path from which the store may begin: before everything in the listing, as close as its own rules for
    paths allow."""
    if prefix and not prefix.endswith("/"):
        before = chr(ord(prefix[-1]) - 1) if prefix[-1] > "\0" else ""
        after = max(after, f"{prefix[:-1]}{before}\U0010ffff")  # the last text that sorts before the prefix
    while after and not _valid(after):
        after = after.rpartition("/")[0]
    return after or None


def _valid(path: str) -> bool:
    try:
        check_path(path)
    except Invalid:
        return False
    return True


class CountedUpload:
    """A caller's chunks on their way to the store: counts them, and keeps the caller's errors apart from the
    store's."""

    def __init__(self, chunks: AsyncIterable[bytes]) -> None:
        self._chunks = aiter(chunks)
        self.size = 0
        self.ended = False
        self.error: Exception | None = None

    async def up_to(self, size: int) -> bytes:
        """Returns the beginning: everything, in which case `ended` is set, or more than `size` bytes."""
        held = []
        while self.size <= size and (chunk := await anext(self._chunks, None)) is not None:
            self.size += len(chunk)
            held.append(chunk)
        self.ended = self.size <= size
        return b"".join(held)

    async def rest(self, first: bytes) -> AsyncIterator[bytes]:
        yield first
        try:
            async for chunk in self._chunks:
                self.size += len(chunk)
                yield chunk
        except Exception as error:
            self.error = error
            raise
