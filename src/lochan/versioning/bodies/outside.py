"""Files outside the lake: found again by their URL, and made into entries without a copy.

    s3://bucket/key   gs://bucket/key   az://container/key    the key as it is
    file:///folder/name                                       the real path, with % written as %25
    memory://name/key                                         for tests

Nobody here judges who may read what: whoever imports or links for somebody else looks at the URL first, and for local
files at the address of the entry, in which symbolic links are resolved.
"""

import os
import re
from collections.abc import AsyncIterator, Callable
from urllib.parse import unquote

from lochan.errors import Invalid, NotFound, Refused
from lochan.formats import lake_file
from lochan.formats.entry import Block, Entry
from lochan.store.paths import check_path
from lochan.store.protocol import Stat, Store
from lochan.versioning.bodies.paths import check_key

_BATCH = 1000
_MD5 = re.compile(r"[0-9a-f]{32}")


class Outside:
    """`open_store` is given a bucket's URL, or `file:///`; each is opened once."""

    def __init__(self, open_store: Callable[[str], Store]) -> None:
        self._open_store = open_store
        self._stores: dict[str, Store] = {}

    def find(self, url: str) -> tuple[Store, str]:
        """The store that holds this file, and the file's path there."""
        root, path = _split(url)
        if root not in self._stores:
            self._stores[root] = self._open_store(root)
        return self._stores[root], path

    async def link(self, path: str, url: str) -> Entry:
        """The file at this URL as the object at `path`. Raises NotFound, and Refused for a file of a lake."""
        check_key(path)
        root, key = _resolved(url)
        store, _ = self.find(root)
        await _refuse_lake(store, root, key.rpartition("/")[0])
        return _entry(path, root, await store.head(key))

    async def entries(self, url: str, to: str) -> AsyncIterator[list[Entry]]:
        """All files under a folder or prefix, in batches, ordered by their paths. Each gets the path `to` followed by
        its name from the folder on. Symbolic links are left out.

        Raises NotFound when there are none, and Refused for files of a lake, perhaps not before the last batch; so
        nothing of an import may be seen before it has ended.
        """
        root, folder = _resolved(url)
        store, _ = self.find(root)
        await _refuse_lake(store, root, folder)
        batch: list[Entry] = []
        prefix = f"{folder}/" if folder else ""
        found = False
        async for stat in store.list(prefix):
            if stat.path.rpartition("/")[2] == lake_file.PATH:
                raise _lake_found(root, stat.path)
            if stat.size == 0 and await _is_marker(store, stat.path):
                continue
            found = True
            batch.append(_entry(to + stat.path.removeprefix(prefix), root, stat))
            if len(batch) == _BATCH:
                yield batch
                batch = []
        if batch:
            yield batch
        if not found:
            raise NotFound(f"there is nothing to import under {url}")


def plain_etag(etag: str) -> str:
    return etag.removeprefix("W/").strip('"')


def _split(url: str) -> tuple[str, str]:
    scheme, found, rest = url.partition("://")
    if not found:
        raise Invalid(f"{url!r} is not a URL", hint="it begins with s3://, gs://, az:// or file://")
    if scheme == "file":
        return "file:///", unquote(rest.removeprefix("localhost")).strip("/")
    bucket, _, key = rest.partition("/")
    return f"{scheme}://{bucket}", key


def _resolved(url: str) -> tuple[str, str]:
    """Where a user's URL leads to: no slash at the end, and for a local one no symbolic link on the way."""
    root, path = _split(url)
    if root == "file:///":
        path = os.fsdecode(os.path.realpath(os.fsencode(f"/{path}"))).strip("/")
    path = path.rstrip("/")
    if path:
        check_path(path)
    return root, path


def _entry(path: str, root: str, stat: Stat) -> Entry:
    """What the store tells of the file; its SHA-256 is not known. Under some kinds of encryption an ETag looks like an
    MD5 and is none; it still tells one content from another."""
    check_key(path)
    check_path(stat.path)
    etag = plain_etag(stat.etag)
    return Entry(
        path=path,
        blocks=(Block(_url(root, stat.path), 0, stat.size, b""),),
        size=stat.size,
        checksum=etag if _MD5.fullmatch(etag) else "",
        etag=etag,
        mtime=int(stat.modified * 1e6),
    )


def _url(root: str, path: str) -> str:
    return f"file:///{path.replace('%', '%25')}" if root == "file:///" else f"{root}/{path}"


async def _refuse_lake(store: Store, root: str, folder: str) -> None:
    """A lake's files belong to its own garbage collection, so nothing else may point to them. Raises Refused when the
    folder, or any folder above it, is a lake."""
    segments = folder.split("/") if folder else []
    for count in range(len(segments) + 1):
        path = "/".join([*segments[:count], lake_file.PATH])
        try:
            await store.head(path)
        except NotFound:
            continue
        except Refused as error:
            message = f"whether {_url(root, folder)} is part of a lake could not be seen: {error.message}"
            raise Refused(message, hint=f"the credentials must allow to look for {_url(root, path)}") from error
        raise _lake_found(root, path)


def _lake_found(root: str, path: str) -> Refused:
    return Refused(
        f"{_url(root, path)} is there, so these are files of a lake, which only that lake may name",
        hint="copy the objects instead, or import from the place where they came from",
    )


async def _is_marker(store: Store, path: str) -> bool:
    """Consoles mark an empty folder by an empty object whose key ends with a slash, which the list does not show."""
    try:
        await store.head(path)
    except NotFound:
        return True
    return False
