"""Reads inventories of files outside the lake (`formats/inventory.py`), and checks what can be checked: the manifest
and its parts by their MD5s, keys by the place that is imported, and sizes and ETags of a sample, or of all, by asking
the store.

    manifest ──▶ parts ──▶ one after the other, or each by a task of Spark: fetched, checked, read ──▶ LIST_SCHEMA
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.concurrency import map_concurrently
from lochan.errors import Invalid, NotFound, Refused
from lochan.formats import inventory, lake_file
from lochan.formats.inventory import PartFormat
from lochan.runtime import running_loop
from lochan.store.protocol import Store
from lochan.store.scratch import place
from lochan.store.threads import Threads
from lochan.versioning.bodies.file_list import SortedFiles
from lochan.versioning.bodies.listed_files import LIST_SCHEMA, LOCAL, FileAddresses, one_chunk, replace_prefix, url_of
from lochan.versioning.bodies.outside_files import OutsideFiles, check_names_and_paths, plain_etag

SAMPLE = 64  # files that the store is asked for, unless it is asked for all
_HEAD_BYTES = 16
_AT_ONCE = 32
_PIECE_BYTES = 8 << 20


class InventoryPart(NamedTuple):
    """A file that lists files, as a value that any machine can use to read it."""

    root: str  # the root of its store
    path: str
    format: PartFormat
    size: int = -1  # -1 if it is not known
    md5: str = ""

    @property
    def what(self) -> str:
        return url_of(self.root, self.path)


async def inventory_parts(outside: OutsideFiles, url: str, target: FileAddresses) -> list[InventoryPart]:
    """Returns the parts of the manifest, or the plain list, at this URL. Raises NotFound, Invalid, Refused."""
    store, path = outside.file(url)
    root = _root(url, path)
    if path.rpartition("/")[2].startswith("manifest") and path.endswith(".json"):
        return await _of_manifest(outside, store, path, url, target)
    head = await store.get_range(path, 0, min(_HEAD_BYTES, (await store.head(path)).size))
    return [InventoryPart(root, path, inventory.plain_format(url, head))]


async def _of_manifest(
    outside: OutsideFiles, store: Store, path: str, what: str, target: FileAddresses
) -> list[InventoryPart]:
    """Returns the parts of a manifest. `what` is the manifest's URL, for messages."""
    data = await store.get(path)
    with suppress(NotFound):
        stated = (await store.get(f"{path.removesuffix('.json')}.checksum")).decode(errors="replace").strip()
        if stated.lower() != hashlib.md5(data, usedforsecurity=False).hexdigest():
            raise Invalid(f"{what} does not have the MD5 that manifest.checksum states", hint=_DAMAGED)
    found = inventory.parse_manifest(data, what)
    if target.root.partition("://")[2] != found.source_bucket:
        raise Invalid(
            f"{what} is an inventory of the bucket {found.source_bucket!r}, not of {target.root}",
            hint="import from the bucket that the inventory lists",
        )
    form = inventory.part_format(found)
    parts = []
    for file in found.files:
        url = _part_url(what, path, file.key, found.bucket)
        _, found_path = outside.file(url)
        parts.append(InventoryPart(_root(url, found_path), found_path, form, file.size, file.md5.lower()))
    return parts


def _part_url(manifest: str, path: str, key: str, bucket: str) -> str:
    """Returns the URL of a part: in the manifest's bucket by its key, or beside a manifest that was copied to a
    disk."""
    scheme = manifest.partition("://")[0]
    if scheme != "file":
        return f"{scheme}://{bucket}/{key}"
    folder = Path("/", path).parent
    for found in (folder / key, folder / Path(key).name, folder.parent / "data" / Path(key).name):
        if found.is_file() and ".." not in Path(key).parts:
            return f"file://{str(found).replace('%', '%25')}"
    return f"file://{str(folder / Path(key).name).replace('%', '%25')}"


def _root(url: str, path: str) -> str:
    return "file:///" if url.startswith("file:") else url[: len(url) - len(path)].rstrip("/")


async def read_part(store: Store, part: InventoryPart, target: FileAddresses) -> AsyncIterator[pa.Table]:
    """Yields the files that a part lists, as tables of LIST_SCHEMA in no particular order. The part is fetched and
    checked before its first row is used. Raises Invalid, NotFound, Refused."""
    threads = Threads()
    with TemporaryDirectory(prefix="lochan-inventory-", dir=place()) as folder:
        file = Path(folder, "part")
        await _fetch(store, part, file)
        tables = _list_files(file, part, target)
        loop = running_loop()
        ahead = None if loop is None else loop.create_task(_next(tables, threads))
        try:
            while (table := await (_next(tables, threads) if ahead is None else ahead)) is not None:
                ahead = None if loop is None else loop.create_task(_next(tables, threads))  # while this one is used
                if len(table):
                    yield table
        finally:
            if ahead is not None and not ahead.done():
                await asyncio.wait([ahead])


async def _next(tables: Iterator[pa.Table], threads: Threads) -> pa.Table | None:
    return await threads.run(next, tables, None)


async def _fetch(store: Store, part: InventoryPart, file: Path) -> None:
    digest, size = hashlib.md5(usedforsecurity=False), 0
    with file.open("wb") as out:
        try:
            async for piece in store.get_stream(part.path):
                if part.md5:
                    digest.update(piece)
                size += len(piece)
                out.write(piece)
        except NotFound as error:
            raise NotFound(f"the inventory's part {part.what} is missing", hint=_DAMAGED) from error
    if part.size >= 0 and size != part.size:
        raise Invalid(f"{part.what} has {size} bytes, its manifest says {part.size}", hint=_DAMAGED)
    if part.md5 and digest.hexdigest() != part.md5:
        raise Invalid(f"{part.what} does not have the MD5 that its manifest states", hint=_DAMAGED)


def _list_files(file: Path, part: InventoryPart, target: FileAddresses) -> Iterator[pa.Table]:
    def open_part() -> pa.NativeFile:
        return pa.memory_map(str(file)) if file.stat().st_size else pa.BufferReader(b"")

    for table in inventory.files_in(open_part, part.format, part.what):
        yield list_table(table.combine_chunks(), target, part.what)


def list_table(found: pa.Table, target: FileAddresses, what: str) -> pa.Table:
    """Converts rows of PART_SCHEMA to LIST_SCHEMA: those of the target, without markers of folders. Raises Invalid for
    keys of another bucket and for names that cannot be stored, and Refused for files of a lake."""
    names = _names(found, target, what)
    kept = pc.starts_with(names, target.prefix)
    if pc.min(found["size"]).as_py() == 0:
        is_marker = pc.and_(pc.ends_with(names, "/"), pc.equal(one_chunk(found, "size"), 0))
        kept = pc.and_(kept, pc.invert(is_marker))
    if not pc.all(kept).as_py():
        names, found = names.filter(kept), found.filter(kept)
    if not len(names):
        return LIST_SCHEMA.empty_table()
    paths = replace_prefix(names, target.prefix, target.to)
    check_names_and_paths(names, paths, target.prefix, target.to)
    lakes = names.filter(pc.ends_with(names, lake_file.PATH))
    if pc.any(pc.match_substring_regex(lakes, f"(^|/){lake_file.PATH}$")).as_py():
        raise Refused(f"{what} lists a {lake_file.PATH}: these are files of a lake", hint="only that lake names them")
    return pa.table([paths, found["size"], found["etag"], found["mtime"]], schema=LIST_SCHEMA)


def _names(found: pa.Table, target: FileAddresses, what: str) -> pa.Array:
    """Returns the names of the files in the target's store. A plain list may have URLs, or paths below the imported
    folder."""
    keys, buckets = one_chunk(found, "key"), one_chunk(found, "bucket")
    if buckets.null_count < len(buckets):
        bucket = target.root.partition("://")[2]
        others = pc.filter(buckets, pc.fill_null(pc.not_equal(buckets, bucket), False))
        if len(others):
            raise _other_bucket(what, others[0].as_py(), target)
        return keys
    start = f"{target.root.rstrip('/')}/"
    here = pc.starts_with(keys, start)
    if not pc.all(here).as_py():
        if not pc.any(pc.match_substring(keys, "://")).as_py():
            return replace_prefix(keys, "", target.prefix)
        raise _other_bucket(what, pc.filter(keys, pc.invert(here))[0].as_py(), target)
    names = replace_prefix(keys, start, "")
    return pc.replace_substring(names, "%25", "%") if target.root == LOCAL else names


def _other_bucket(what: str, found: str, target: FileAddresses) -> Invalid:
    return Invalid(
        f"{what} lists files of another place, such as {found!r}: they are not in {target.root}",
        hint="import from the place that the inventory lists",
    )


async def check_listed(store: Store, target: FileAddresses, files: SortedFiles, *, every: bool) -> None:
    """Asks the store for files that the list names: for all of them, or for a sample from the whole list. Raises
    Invalid if one is gone or differs from the list."""
    step = 1 if every else max(1, files.count // SAMPLE)
    for table in _steps(files, step):
        await check_files(store, target, table)


def _steps(files: SortedFiles, step: int) -> Iterator[pa.Table]:
    before = 0
    for batch in files.listed():
        yield batch.take(np.arange(-before % step, len(batch), step))
        before += len(batch)


async def check_files(store: Store, target: FileAddresses, table: pa.Table) -> None:
    """Asks the store for all files of a table. Raises Invalid if one is gone or differs from the list."""
    rows = list(zip(*(table[name].to_pylist() for name in ("path", "size", "etag")), strict=True))

    async def check(row: tuple[str, int, str]) -> None:
        path, size, etag = row
        name = target.name(path)
        address = url_of(target.root, name)
        try:
            there = await store.head(name)
        except NotFound as error:
            raise Invalid(f"the inventory lists {address}, which is not there", hint=_OLD) from error
        if (there.size, plain_etag(there.etag)) != (size, etag):
            raise Invalid(
                f"the inventory lists {address} with {size} bytes and the ETag {etag}; "
                f"it has {there.size} bytes and the ETag {plain_etag(there.etag)}",
                hint=_OLD,
            )

    await map_concurrently(check, rows, _AT_ONCE)


_DAMAGED = "nothing was imported; fetch the inventory again"
_OLD = "the inventory is too old, or of another bucket; nothing was imported. `ingest` without it lists the files"
