"""Files outside the lake: found by their URL, and made into entries without a copy.

    s3://bucket/key   gs://bucket/key   az://container/key    the key as it is
    file:///folder/name                                       the real path, with % written as %25
    memory://name/key                                         for tests

This module does not decide who may read what. A caller that imports or links for somebody else checks the URL first,
and for local files the entry's address, in which symbolic links are resolved. A store's listing becomes entries a table
at a time, column by column.
"""

import os
import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from lochan.concurrency import map_concurrently
from lochan.errors import Invalid, NotFound, Refused
from lochan.formats import lake_file
from lochan.formats.entry import Block, Entry
from lochan.store.protocol import Stat, Store, check_path
from lochan.store.threads import Threads
from lochan.versioning.bodies.file_list import LIST_SCHEMA, as_entries
from lochan.versioning.bodies.list_spans import ListSpan, list_spans, listed
from lochan.versioning.names import KEY_BYTES_MAX, check_key

_MD5 = "^[0-9a-f]{32}$"
_BATCH = 10_000  # files that become one table: 4 MB
_HEADS_AT_ONCE = 32
_LISTS_AT_ONCE = 8
_SPANS = 32  # of one listing: more than at once, because they are of very different sizes


def url_of(root: str, path: str) -> str:
    """The address of a file; `root` is a bucket's URL, or `file:///`, where % is written as %25; empty: in the lake."""
    if not root:
        return path
    return f"file:///{path.replace('%', '%25')}" if root == "file:///" else f"{root}/{path}"


def entry_of(path: str, root: str, stat: Stat) -> Entry:
    """An entry from what the store reports. The SHA-256 is not known. With some kinds of encryption an ETag looks like
    an MD5 but is none; it still changes with the content."""
    check_key(path)
    check_path(stat.path)
    etag = plain_etag(stat.etag)
    return Entry(
        path=path,
        blocks=(Block(url_of(root, stat.path), 0, stat.size, b""),),
        size=stat.size,
        checksum=etag if re.fullmatch(_MD5, etag) else "",
        etag=etag,
        mtime=int(stat.modified * 1e6),
    )


def entries_table(stats: Sequence[Stat], root: str, prefix: str, to: str) -> pa.Table:
    """The same for many files, in the order of the listing. Each gets the path `to` followed by its name after
    `prefix`. Raises Invalid for a name that cannot be stored or read again."""
    return as_entries(file_table(stats, root, prefix, to))


def file_table(stats: Sequence[Stat], root: str, prefix: str, to: str) -> pa.Table:
    """The same with the columns of LIST_SCHEMA."""
    names = [stat.path for stat in stats]
    try:
        paths = pa.array([to + name[len(prefix) :] for name in names], pa.string())
    except UnicodeEncodeError:
        _refuse(names, prefix, to)
        raise
    check_names_and_paths(pa.array(names, pa.string()), paths, prefix, to)
    return pa.table(
        [
            paths,
            pa.array([url_of(root, name) for name in names], pa.string()),
            pa.array([stat.size for stat in stats], pa.int64()),
            pa.array([plain_etag(stat.etag) for stat in stats], pa.string()),
            pa.array([int(stat.modified * 1e6) for stat in stats], pa.int64()),
        ],
        schema=LIST_SCHEMA,
    )


def plain_etag(etag: str) -> str:
    return etag.removeprefix("W/").strip('"')


def check_names_and_paths(names: pa.Array, paths: pa.Array, prefix: str, to: str) -> None:
    """Checks whole columns, and single names only to report what is wrong. Raises Invalid."""
    longest = pc.max(pc.binary_length(paths)).as_py() or 0
    shortest = pc.min(pc.binary_length(paths)).as_py()
    if longest > KEY_BYTES_MAX or shortest == 0 or _doubtful(names):
        _refuse(names.to_pylist(), prefix, to)


def _doubtful(names: pa.Array) -> bool:
    """Whether any name might fail `check_path`, which accepts every name that passes here."""
    wrong = pc.match_substring_regex(names, r"(^|/)\.{0,2}(/|$)|[\x00-\x1f\x7f]|^\.tmp")
    return bool(pc.any(wrong).as_py()) or (pc.max(pc.binary_length(names)).as_py() or 0) > KEY_BYTES_MAX


def _refuse(names: Sequence[str], prefix: str, to: str) -> None:
    for name in names:
        check_key(to + name[len(prefix) :])
        check_path(name)


def anything(url: str) -> bool:
    return True


class OutsideFiles:
    """`open_store` gets a bucket's URL, or `file:///`; each is opened once. `may_name` is called before a file outside
    becomes an entry, with the URL that it really leads to: a server restricts the places that its users may name, while
    a user of the command line could read the file anyway."""

    def __init__(self, open_store: Callable[[str], Store], may_name: Callable[[str], bool] = anything) -> None:
        self._open_store = open_store
        self._may_name = may_name
        self._stores: dict[str, Store] = {}
        self._threads = Threads()

    def find(self, url: str) -> tuple[Store, str]:
        """The store that holds this file, and the file's path there."""
        root, path = _split(url)
        if root not in self._stores:
            self._stores[root] = self._open_store(root)
        return self._stores[root], path

    async def link(self, path: str, url: str) -> Entry:
        """The file at this URL as the object at `path`. Raises NotFound, and Refused for a file of a lake."""
        check_key(path)
        root, key = self._resolved(url)
        if not key:
            raise Invalid(f"{url!r} names no file", hint="give the whole URL of one file")
        store, _ = self.find(root)
        await _refuse_lake(store, root, key.rpartition("/")[0])
        return entry_of(path, root, await store.head(key))

    async def place(self, url: str) -> "OutsideFolder":
        """The folder or prefix at this URL, if files of it may be named. Raises Refused for one of a lake, or in one;
        Invalid for names in a local folder that are not UTF-8."""
        root, folder = self._resolved(url)
        store, _ = self.find(root)
        await _refuse_lake(store, root, folder)
        if root == "file:///":
            await self._threads.run(check_names, folder)
        return OutsideFolder(root, f"{folder}/" if folder else "", store)

    def file(self, url: str) -> tuple[Store, str]:
        """A single file that somebody names: its store, and its path there. Raises Refused."""
        root, path = self._resolved(url)
        return self.find(root)[0], path

    async def files(self, url: str, to: str) -> AsyncIterator[pa.Table]:
        """All files under a folder or prefix as tables of LIST_SCHEMA, each in path order. Each file gets the path `to`
        followed by its name below the folder. Symbolic links are left out. A bucket is listed in several spans at once,
        so tables come in no order.

        Raises NotFound if there are none, and Refused for files of a lake, possibly only after the last table. So an
        import must not show anything before it has ended.
        """
        place = await self.place(url)
        found = False
        async for table in place.files(to):
            found = True
            yield table
        if not found:
            raise NotFound(f"there is nothing to import under {url}")

    def _resolved(self, url: str) -> tuple[str, str]:
        root, path = _resolved(url)
        if not self._may_name(url_of(root, path)):
            raise Refused(f"{url} is not a place that may be imported from or linked to", hint="ask an administrator")
        return root, path


class OutsideFolder(NamedTuple):
    root: str  # a bucket's URL, or `file:///`
    prefix: str  # what the names of its files begin with
    store: Store

    @property
    def is_local(self) -> bool:
        return self.root == "file:///"

    async def files(self, to: str) -> AsyncIterator[pa.Table]:
        """As `OutsideFiles.files`."""
        spans = [ListSpan("", None)] if self.is_local else await list_spans(self.store, self.prefix, _SPANS)
        if len(spans) == 1:
            async for table in self.span(spans[0], to):
                yield table
            return
        import asyncio  # a command that only reads does without the event loop

        queue: asyncio.Queue[pa.Table | None] = asyncio.Queue(2 * _LISTS_AT_ONCE)

        async def one(span: ListSpan) -> None:
            async for table in self.span(span, to):
                await queue.put(table)

        async def every() -> None:
            try:
                await map_concurrently(one, spans, _LISTS_AT_ONCE)
            finally:
                await queue.put(None)

        work = asyncio.ensure_future(every())
        try:
            while (table := await queue.get()) is not None:
                yield table
            await work
        finally:
            work.cancel()

    async def span(self, span: ListSpan, to: str) -> AsyncIterator[pa.Table]:
        """The files of one span, in path order."""
        async for stats in _batches(listed(self.store, self.prefix, span)):
            _refuse_lake_among(self.root, stats)
            stats = stats if self.is_local else await without_markers(self.store, stats)
            if stats:
                yield file_table(stats, self.root, self.prefix, to)


def _split(url: str) -> tuple[str, str]:
    scheme, found, rest = url.partition("://")
    if not found:
        raise Invalid(f"{url!r} is not a URL", hint="it begins with s3://, gs://, az:// or file://")
    if scheme == "file":
        return "file:///", unquote(rest.removeprefix("localhost")).strip("/")
    bucket, _, key = rest.partition("/")
    return f"{scheme}://{bucket}", key


def _resolved(url: str) -> tuple[str, str]:
    """Where a user's URL leads: without a slash at the end, and with symbolic links of a local path resolved."""
    root, path = _split(url)
    if root == "file:///":
        path = os.fsdecode(os.path.realpath(os.fsencode(f"/{path}"))).strip("/")
    path = path.rstrip("/")
    if path:
        check_path(path)
    return root, path


async def _refuse_lake(store: Store, root: str, folder: str) -> None:
    """A lake's files belong to its own garbage collection, so nothing else may point to them. Raises Refused if the
    folder, or any folder above it, is a lake."""
    segments = folder.split("/") if folder else []
    for count in range(len(segments) + 1):
        path = "/".join([*segments[:count], lake_file.PATH])
        try:
            await store.head(path)
        except NotFound:
            continue
        except Refused as error:
            message = f"whether {url_of(root, folder)} is part of a lake could not be seen: {error.message}"
            raise Refused(message, hint=f"the credentials must allow to look for {url_of(root, path)}") from error
        raise _lake_found(root, path)


def _lake_found(root: str, path: str) -> Refused:
    return Refused(
        f"{url_of(root, path)} is there, so these are files of a lake, which only that lake may name",
        hint="copy the objects instead, or import from the place where they came from",
    )


def _refuse_lake_among(root: str, stats: list[Stat]) -> None:
    for stat in stats:
        if stat.path.endswith(lake_file.PATH) and stat.path.rpartition("/")[2] == lake_file.PATH:
            raise _lake_found(root, stat.path)


async def _batches(stats: AsyncIterator[Stat]) -> AsyncIterator[list[Stat]]:
    batch: list[Stat] = []
    async for stat in stats:
        batch.append(stat)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


async def without_markers(store: Store, stats: list[Stat]) -> list[Stat]:
    """Consoles mark an empty folder with an empty object whose key ends with a slash; the listing drops that slash."""

    async def is_marker(path: str) -> bool:
        try:
            await store.head(path)
        except NotFound:
            return True
        return False

    empty = [stat.path for stat in stats if stat.size == 0]
    marked = await map_concurrently(is_marker, empty, _HEADS_AT_ONCE) if empty else []
    markers = {path for path, is_one in zip(empty, marked, strict=True) if is_one}
    return [stat for stat in stats if stat.path not in markers] if markers else stats


def check_names(folder: str) -> None:
    """A listing of a local folder skips names that are not UTF-8. Importing the rest silently would lose files. Raises
    Invalid."""
    for where, folders, names in os.walk(os.fsencode(f"/{folder}")):
        for name in (*folders, *names):
            try:
                name.decode()
            except UnicodeDecodeError:
                file = os.fsdecode(os.path.join(where, name))  # noqa: PTH118
                raise Invalid(f"{file!r}: the name is not valid UTF-8", hint="rename it, or import a part") from None
