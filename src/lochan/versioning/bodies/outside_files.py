"""Files outside the lake, which are found by their URL and made into entries without a copy.

    s3://bucket/key   gs://bucket/key   az://container/key    the key as it is
    file:///folder/name                                       the real path, with % written as %25
    memory://name/key                                         for tests

This module does not decide who may read a file. A caller that imports or links for another user checks the URL first,
and for local files the entry's address, in which symbolic links are resolved. A store's listing becomes entries a table
at a time, column by column."""

import os
import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.concurrency import map_concurrently
from lochan.errors import Invalid, NotFound, Refused
from lochan.formats import lake_file
from lochan.formats.entry import Block, Entry
from lochan.formats.inventory import unquote_etags
from lochan.store.protocol import Stat, Store, check_path
from lochan.store.stat_tables import STAT_SCHEMA
from lochan.store.threads import Threads
from lochan.versioning.bodies.list_spans import ListSpan, list_span, list_spans
from lochan.versioning.bodies.listed_files import (
    LIST_SCHEMA,
    LOCAL,
    FileAddresses,
    as_entries,
    one_chunk,
    replace_prefix,
    url_of,
)
from lochan.versioning.names import KEY_BYTES_MAX, check_key

_MD5 = "^[0-9a-f]{32}$"
_LETTERS = 1 << 15  # letters that are tested together, so that intermediate arrays stay in the processor's cache
_FIRST_PRINTED, _DELETE, _DOT, _SLASH = np.frombuffer(b" \x7f./", np.uint8)
_HEADS_AT_ONCE = 32
_LISTS_AT_ONCE = 8
PIECE = 1 << 16  # files that are handled together
_SPANS = 32  # spans of one listing: more than are listed at once, because their sizes differ a lot


def entry_of(path: str, root: str, stat: Stat) -> Entry:
    """Makes an entry from what the store reports. The SHA-256 is not known. With some kinds of encryption an ETag looks
    like an MD5 but is none; it still changes with the content."""
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


def entries_table(stats: pa.Table, root: str, prefix: str, to: str) -> pa.Table:
    """Makes the entries of many files (STAT_SCHEMA), in the order of the listing. Each gets the path `to` followed by
    its name after `prefix`. Raises Invalid for a name that cannot be stored or read again."""
    return as_entries(FileAddresses(root, prefix, to).located(file_table(stats, prefix, to)))


def file_table(stats: pa.Table, prefix: str, to: str) -> pa.Table:
    """Does the same as `entries_table`, but returns the columns of LIST_SCHEMA."""
    names = one_chunk(stats, "path")
    paths = replace_prefix(names, prefix, to)
    check_names_and_paths(names, paths, prefix, to)
    etags = _plain_etags(one_chunk(stats, "etag"))
    return pa.table([paths, stats["size"], etags, stats["mtime"]], schema=LIST_SCHEMA)


def _plain_etags(etags: pa.StringArray) -> pa.StringArray:
    if pc.any(pc.starts_with(etags, "W/")).as_py():
        etags = pc.replace_substring_regex(etags, "^W/", "")
    return unquote_etags(etags)


def plain_etag(etag: str) -> str:
    return etag.removeprefix("W/").strip('"')


def check_names_and_paths(names: pa.Array, paths: pa.Array, prefix: str, to: str) -> None:
    """Checks whole columns, and looks at single names only to report what is wrong. Raises Invalid."""
    longest = pc.max(pc.binary_length(paths)).as_py() or 0
    shortest = pc.min(pc.binary_length(paths)).as_py()
    if longest > KEY_BYTES_MAX or shortest == 0 or _doubtful(names):
        _refuse(names.to_pylist(), prefix, to)


def _doubtful(names: pa.Array) -> bool:
    """Returns whether any name might fail `check_path`, which accepts every name that passes here."""
    if (pc.max(pc.binary_length(names)).as_py() or 0) > KEY_BYTES_MAX:
        return True
    if _are_plain(names):
        return False
    wrong = pc.match_substring_regex(names, r"(^|/)\.{0,2}(/|$)|[\x00-\x1f\x7f]|^\.tmp")
    return bool(pc.any(wrong).as_py())


def _are_plain(names: pa.StringArray) -> bool:
    """Returns whether no name has a control character, an empty segment, or one that begins with a dot. It tests the
    bytes of all names at once, in a quarter of the time that a regular expression takes."""
    if pc.min(pc.binary_length(names)).as_py() == 0:
        return False
    _, offsets, data = names.buffers()
    ends = np.frombuffer(offsets, np.int32)[names.offset : names.offset + len(names) + 1]
    letters = np.frombuffer(data, np.uint8)[: ends[-1]]
    first, last = letters[ends[:-1]], letters[ends[1:] - 1]
    if ((first == _DOT) | (first == _SLASH) | (last == _SLASH)).any():
        return False
    return all(_is_plain(letters[at : at + _LETTERS + 1]) for at in range(int(ends[0]), int(ends[-1]), _LETTERS))


def _is_plain(letters: npt.NDArray[np.uint8]) -> bool:
    if letters.min() < _FIRST_PRINTED or (letters == _DELETE).any():
        return False
    wrong = letters[1:] - _DOT < 2  # a dot, or a slash, which is the next code
    wrong &= letters[:-1] == _SLASH
    return not wrong.any()


def _refuse(names: Sequence[str], prefix: str, to: str) -> None:
    for name in names:
        check_key(to + name[len(prefix) :])
        check_path(name)


def anything(url: str) -> bool:
    return True


class OutsideFiles:
    """Finds files outside the lake. `open_store` gets a bucket's URL, or `file:///`; each is opened once. `may_name` is
    called before a file outside becomes an entry, with the URL that it really leads to: a server restricts the places
    that its users may name, while a user of the command line could read the file anyway."""

    def __init__(self, open_store: Callable[[str], Store], may_name: Callable[[str], bool] = anything) -> None:
        self._open_store = open_store
        self._may_name = may_name
        self._stores: dict[str, Store] = {}
        self._threads = Threads()

    def find(self, url: str) -> tuple[Store, str]:
        """Returns the store that holds this file, and the file's path there."""
        root, path = _split(url)
        if root not in self._stores:
            self._stores[root] = self._open_store(root)
        return self._stores[root], path

    async def link(self, path: str, url: str) -> Entry:
        """Returns the file at this URL as the object at `path`. Raises NotFound, and Refused for a file of a lake."""
        check_key(path)
        root, key = self._resolve_allowed(url)
        if not key:
            raise Invalid(f"{url!r} names no file", hint="give the whole URL of one file")
        store, _ = self.find(root)
        await _refuse_lake(store, root, key.rpartition("/")[0])
        return entry_of(path, root, await store.head(key))

    async def place(self, url: str) -> "OutsideFolder":
        """Returns the folder or prefix at this URL, if its files may be named. Raises Refused for the folder of a lake
        or one inside it, and Invalid for names in a local folder that are not UTF-8."""
        root, folder = self._resolve_allowed(url)
        store, _ = self.find(root)
        await _refuse_lake(store, root, folder)
        if root == LOCAL:
            await self._threads.run(check_names, folder)
        return OutsideFolder(root, f"{folder}/" if folder else "", store)

    async def single(self, url: str) -> "OutsideFolder":
        """Returns the single file at this URL as a folder. Raises NotFound, Refused for a file of a lake, Invalid."""
        root, key = self._resolve_allowed(url)
        if not key or url.endswith("/"):
            raise Invalid(f"{url!r} names no file", hint="give the whole URL of one file")
        store, _ = self.find(root)
        await _refuse_lake(store, root, key.rpartition("/")[0])
        return OutsideFolder(root, key, store, single=True)

    def file(self, url: str) -> tuple[Store, str]:
        """Returns the store of a single file that a user names, and its path there. Raises Refused."""
        root, path = self._resolve_allowed(url)
        return self.find(root)[0], path

    def _resolve_allowed(self, url: str) -> tuple[str, str]:
        root, path = _resolve(url)
        if not self._may_name(url_of(root, path)):
            raise Refused(f"{url} is not a place that may be imported from or linked to", hint="ask an administrator")
        return root, path


class OutsideFolder(NamedTuple):
    root: str  # a bucket's URL, or `file:///`
    prefix: str  # the beginning of the names of its files
    store: Store
    single: bool = False  # whether it is a single file, whose whole name is the prefix

    @property
    def is_local(self) -> bool:
        return self.root == LOCAL

    def addresses(self, to: str) -> FileAddresses:
        return FileAddresses(self.root, self.prefix, to)

    async def files(self, to: str) -> AsyncIterator[pa.Table]:
        """Yields all files as tables of LIST_SCHEMA, each in path order. Each file gets the path `to` followed by its
        name below the folder. Symbolic links are left out. A bucket is listed in several spans at once, so tables come
        in no particular order.

        Raises Refused for files of a lake, possibly only after the last table. So an import must not show anything
        before it has ended."""
        if self.single:
            yield await self._one(to)
            return
        spans = [ListSpan("", None)] if self.is_local else await list_spans(self.store, self.prefix, _SPANS)
        if len(spans) == 1:
            async for table in self.span(spans[0], to):
                yield table
            return
        import asyncio  # a command that only reads does not import the event loop

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

    async def _one(self, to: str) -> pa.Table:
        """Returns the table of the single file. Raises NotFound."""
        _refuse_lake_among(self.root, pa.chunked_array([[self.prefix]]))
        stat = await self.store.head(self.prefix)
        row = {"path": self.prefix, "size": stat.size, "mtime": int(stat.modified * 1e6), "etag": stat.etag}
        return file_table(pa.Table.from_pylist([row], STAT_SCHEMA), self.prefix, to)

    async def span(self, span: ListSpan, to: str) -> AsyncIterator[pa.Table]:
        """Yields the files of one span, in path order."""
        async for stats in _in_pieces(list_span(self.store, self.prefix, span)):
            _refuse_lake_among(self.root, stats["path"])
            stats = stats if self.is_local else await _without_markers(self.store, stats)
            if len(stats):
                yield file_table(stats, self.prefix, to)


async def _in_pieces(pages: AsyncIterator[pa.Table]) -> AsyncIterator[pa.Table]:
    """Yields the same rows in fewer tables, because each later step has a cost for each table."""
    waiting: list[pa.Table] = []
    count = 0
    async for page in pages:
        if waiting and count + len(page) > PIECE:
            yield pa.concat_tables(waiting).combine_chunks()
            waiting, count = [], 0
        waiting.append(page)
        count += len(page)
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()


def _split(url: str) -> tuple[str, str]:
    scheme, found, rest = url.partition("://")
    if not found:
        raise Invalid(f"{url!r} is not a URL", hint="it begins with s3://, gs://, az:// or file://")
    if scheme == "file":
        return LOCAL, unquote(rest.removeprefix("localhost")).strip("/")
    bucket, _, key = rest.partition("/")
    return f"{scheme}://{bucket}", key


def _resolve(url: str) -> tuple[str, str]:
    """Returns where a user's URL leads: without a slash at the end, and with the symbolic links of a local path
    resolved."""
    root, path = _split(url)
    if root == LOCAL:
        path = os.fsdecode(os.path.realpath(os.fsencode(f"/{path}"))).strip("/")
    path = path.rstrip("/")
    if path:
        check_path(path)
    return root, path


async def _refuse_lake(store: Store, root: str, folder: str) -> None:
    """Raises Refused if the folder, or any folder above it, is a lake. A lake's files belong to its own garbage
    collection, so nothing else may point to them."""
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


def _refuse_lake_among(root: str, names: pa.ChunkedArray) -> None:
    for name in names.filter(pc.ends_with(names, lake_file.PATH)).to_pylist():
        if name.rpartition("/")[2] == lake_file.PATH:
            raise _lake_found(root, name)


async def _without_markers(store: Store, stats: pa.Table) -> pa.Table:
    empty = stats["path"].filter(pc.equal(stats["size"], 0)).to_pylist()
    found = await markers(store, empty) if empty else ()
    if not found:
        return stats
    return stats.filter(pc.invert(pc.is_in(stats["path"], value_set=pa.array(sorted(found), pa.string()))))


async def markers(store: Store, empty: Sequence[str]) -> set[str]:
    """Returns the empty objects that mark a folder. Consoles mark an empty folder with an empty object whose key ends
    with a slash; the listing drops that slash."""

    async def is_marker(path: str) -> bool:
        try:
            await store.head(path)
        except NotFound:
            return True
        return False

    marked = await map_concurrently(is_marker, empty, _HEADS_AT_ONCE)
    return {path for path, is_one in zip(empty, marked, strict=True) if is_one}


def check_names(folder: str) -> None:
    """Checks that all names in a local folder are UTF-8. A listing skips names that are not, and importing the rest
    silently would lose files. Raises Invalid."""
    for where, folders, names in os.walk(os.fsencode(f"/{folder}")):
        for name in (*folders, *names):
            try:
                name.decode()
            except UnicodeDecodeError:
                file = os.fsdecode(os.path.join(where, name))  # noqa: PTH118
                raise Invalid(f"{file!r}: the name is not valid UTF-8", hint="rename it, or import a part") from None
