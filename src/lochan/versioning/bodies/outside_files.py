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
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.concurrency import map_concurrently
from lochan.errors import Invalid, NotFound, Refused
from lochan.formats import lake_file
from lochan.formats.entry import ENTRY_SCHEMA, Block, Entry
from lochan.store.protocol import Stat, Store, check_path
from lochan.store.threads import Threads
from lochan.versioning.names import KEY_BYTES_MAX, check_key

_MD5 = "^[0-9a-f]{32}$"
_BLOCKS = ENTRY_SCHEMA.field("blocks").type
_EMPTY = ("checksums", "parts", "headers", "metadata")
_BATCH = 10_000  # files that become one table: 4 MB
_HEADS_AT_ONCE = 32


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
    names = [stat.path for stat in stats]
    try:
        paths = pa.array([to + name[len(prefix) :] for name in names], pa.string())
    except UnicodeEncodeError:
        _refuse(names, prefix, to)
        raise
    _check(names, paths, prefix, to)
    count = len(stats)
    sizes = pa.array([stat.size for stat in stats], pa.int64())
    etags = pa.array([plain_etag(stat.etag) for stat in stats], pa.string())
    spans = pa.StructArray.from_arrays(
        [
            pa.array([url_of(root, name) for name in names], pa.string()),
            _repeated(0, count, pa.int64()),
            sizes,
            _repeated(b"", count, pa.binary()),
        ],
        fields=list(_BLOCKS.value_type),
    )
    columns = {
        "path": paths,
        "blocks": pa.ListArray.from_arrays(pa.array(np.arange(count + 1), pa.int32()), spans, type=_BLOCKS),
        "size": sizes,
        "checksum": pc.if_else(pc.match_substring_regex(etags, _MD5), etags, ""),
        "etag": etags,
        "mtime": pa.array([int(stat.modified * 1e6) for stat in stats], pa.int64()),
        "content_type": _repeated("", count, pa.string()),
    }
    nothing = {name: _repeated([], count, ENTRY_SCHEMA.field(name).type) for name in _EMPTY}
    return pa.table({**columns, **nothing}).select(ENTRY_SCHEMA.names).cast(ENTRY_SCHEMA)


def plain_etag(etag: str) -> str:
    return etag.removeprefix("W/").strip('"')


def _check(names: Sequence[str], paths: pa.Array, prefix: str, to: str) -> None:
    """Checks whole columns, and single names only to report what is wrong."""
    longest = pc.max(pc.binary_length(paths)).as_py() or 0
    shortest = pc.min(pc.binary_length(paths)).as_py()
    if longest > KEY_BYTES_MAX or shortest == 0 or _doubtful(pa.array(names, pa.string())):
        _refuse(names, prefix, to)


def _doubtful(names: pa.Array) -> bool:
    """Whether any name might fail `check_path`, which accepts every name that passes here."""
    wrong = pc.match_substring_regex(names, r"(^|/)\.{0,2}(/|$)|[\x00-\x1f\x7f]|^\.tmp")
    return bool(pc.any(wrong).as_py()) or (pc.max(pc.binary_length(names)).as_py() or 0) > KEY_BYTES_MAX


def _refuse(names: Sequence[str], prefix: str, to: str) -> None:
    for name in names:
        check_key(to + name[len(prefix) :])
        check_path(name)


def _repeated(value: object, count: int, type: pa.DataType) -> pa.Array:
    return pa.repeat(pa.scalar(value, type), count)


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

    async def files(self, url: str, to: str) -> AsyncIterator[pa.Table]:
        """All files under a folder or prefix as tables of entries, in path order. Each gets the path `to` followed by
        its name below the folder. Symbolic links are left out.

        Raises NotFound if there are none, and Refused for files of a lake, possibly only after the last table. So an
        import must not show anything before it has ended.
        """
        root, folder = self._resolved(url)
        store, _ = self.find(root)
        await _refuse_lake(store, root, folder)
        if root == "file:///":
            await self._threads.run(check_names, folder)
        prefix = f"{folder}/" if folder else ""
        found = False
        async for stats in _batches(store, prefix):
            _refuse_lake_among(root, stats)
            stats = stats if root == "file:///" else await without_markers(store, stats)
            if stats:
                found = True
                yield entries_table(stats, root, prefix, to)
        if not found:
            raise NotFound(f"there is nothing to import under {url}")

    def _resolved(self, url: str) -> tuple[str, str]:
        root, path = _resolved(url)
        if not self._may_name(url_of(root, path)):
            raise Refused(f"{url} is not a place that may be imported from or linked to", hint="ask an administrator")
        return root, path


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


async def _batches(store: Store, prefix: str) -> AsyncIterator[list[Stat]]:
    batch: list[Stat] = []
    async for stat in store.list(prefix):
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
