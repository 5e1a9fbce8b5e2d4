"""The bytes of data objects, as paths that DuckDB can open.

In a local lake these are the files themselves; those of other stores are copied first (`copies.py`). Every file is
compared with the size and the SHA-256 of its entry before a row of it is used: once for each stamp of the file
(`store/verified_files.py`), and each time before rows are copied into new files."""

# ruff: noqa: PTH116, PTH123
from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple, Protocol
from urllib.parse import unquote

from lochan.clock import SystemClock
from lochan.errors import Corrupt, Gone, LochanError
from lochan.pools.snapshot import DataObject
from lochan.runtime import running_loop
from lochan.store.checked_reads import ReadDoubt
from lochan.store.disk import translate
from lochan.store.protocol import Store
from lochan.store.threads import for_tables
from lochan.store.verified_files import Stamp, VerifiedFiles, stamp_of

_INLINE_BYTES_MAX = 16 << 20  # hashing them takes 50 ms, as long as importing asyncio
_LOT_BYTES = 16 << 20  # bytes of small files that a thread checks at once

_threads = for_tables()


class StoredObject(Protocol):
    """A data object, or another file of the lake. `str` is its name in messages."""

    @property
    def address(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def sha256(self) -> bytes: ...


class PlacedObject(NamedTuple):
    object: StoredObject
    path: str  # "" if the object is gone


class Files(Protocol):
    @property
    def folders(self) -> list[str]:
        """The folders of the files, in addition to the reader's own."""

    async def place(self, objects: Sequence[DataObject], work: str, *, recheck: bool = False) -> list[str]:
        """Returns a path for each object, "" if it is gone. `work` is the reader's own folder, which the reader
        removes. Each file is checked once for each stamp, or with `recheck` each time, which copying rows into new
        files requires. Raises Corrupt, and errors of the store."""

    def failure(self, placed: Sequence[PlacedObject]) -> LochanError | None:
        """Returns the reason why an engine could not read the objects: one is gone or damaged. Reads all of them in the
        caller's thread. Returns None if nothing is wrong with them."""


def files_of(
    store: Store, cache: str | None = None, bytes_max: int = 0, *, verified: VerifiedFiles | None = None
) -> Files:
    """Returns the files of a store. Without a cache, copies are made for each query. Without `verified`, the results of
    checks stay in this process."""
    verified = verified or _own_verified_files(store.url)
    if store.url.startswith("file://"):
        return LocalFiles(unquote(store.url.removeprefix("file://")), verified)
    from lochan.engines.duckdb.copies import CopiedFiles

    return CopiedFiles(store, cache, bytes_max, verified)


@cache
def _own_verified_files(url: str) -> VerifiedFiles:
    return VerifiedFiles(url, SystemClock())


class LocalFiles:
    def __init__(self, root: str, verified: VerifiedFiles) -> None:
        self._root = root
        self._check = ObjectCheck(verified)

    @property
    def folders(self) -> list[str]:
        return [self._root]

    async def place(self, objects: Sequence[DataObject], work: str, *, recheck: bool = False) -> list[str]:
        placed = [PlacedObject(each, f"{self._root}/{each.address}") for each in objects]
        return await self._check.check(placed, recheck=recheck)

    def failure(self, placed: Sequence[PlacedObject]) -> LochanError | None:
        return self._check.failure(placed)


class ObjectCheck:
    def __init__(self, verified: VerifiedFiles) -> None:
        self._verified = verified

    async def check(self, placed: Sequence[PlacedObject], *, recheck: bool = False) -> list[str]:
        """Returns the path of each object, "" if it is gone. Raises Corrupt. `recheck` ignores the results of earlier
        checks."""
        missing: set[str] = {""}
        doubtful = [each for each in placed if each.path and self._is_doubtful(each, recheck, missing)]
        if doubtful:
            try:
                missing.update(await self._gone_of(doubtful))
            finally:
                self._verified.save()
        return ["" if each.path in missing else each.path for each in placed]

    def failure(self, placed: Iterable[PlacedObject]) -> LochanError | None:
        """Returns the error of the first object that is gone or damaged. Reads them in the caller's thread, after an
        engine failed to read them."""
        for each in placed:
            try:
                self.check_now(each)
            except FileNotFoundError:
                return gone_meanwhile(each.object)
            except Corrupt as error:
                return error
            except OSError as error:
                return translate(error, each.path)
        return None

    def check_now(self, placed: PlacedObject) -> None:
        """Checks one object. Raises Corrupt after reading it twice, or FileNotFoundError."""
        object, path = placed
        stat = os.stat(path)
        if stat.st_size != object.size:
            stat = os.stat(path)
        if stat.st_size != object.size:
            raise damaged_error(object, f"it has {stat.st_size} bytes instead of {object.size}")
        doubt = ReadDoubt()
        while (digest := _digest(path)) != object.sha256:
            if not doubt.again(digest):
                raise damaged_error(object, "its SHA-256 is not the one it was written with")
        stamp = self._stamp(stat)
        if stamp == self._stamp(os.stat(path)):
            self._verified.add(self._name(placed), stamp, object.sha256)

    async def _gone_of(self, doubtful: Sequence[PlacedObject]) -> list[str]:
        """Checks objects, and returns the paths that are gone."""
        if running_loop() is None:
            if sum(each.object.size for each in doubtful) > _INLINE_BYTES_MAX:
                await _Suspended()
            return self._check_lot(doubtful)
        import asyncio

        lots = await asyncio.gather(*(_threads.run(self._check_lot, lot) for lot in _lots(doubtful)))
        return [path for lot in lots for path in lot]

    def _check_lot(self, lot: Sequence[PlacedObject]) -> list[str]:
        """Checks objects one by one, and returns the paths that are gone."""
        missing = []
        for each in lot:
            try:
                self.check_now(each)
            except FileNotFoundError:
                missing.append(each.path)
            except OSError as error:
                raise translate(error, each.path) from error
        return missing

    def _is_doubtful(self, placed: PlacedObject, recheck: bool, missing: set[str]) -> bool:
        try:
            stat = os.stat(placed.path)
        except (FileNotFoundError, NotADirectoryError):
            missing.add(placed.path)
            return False
        except OSError as error:
            raise translate(error, placed.path) from error
        object = placed.object
        if recheck or stat.st_size != object.size:
            return True
        return not self._verified.has(self._name(placed), self._stamp(stat), object.sha256)

    def _name(self, placed: PlacedObject) -> str:
        return placed.object.address

    def _stamp(self, stat: os.stat_result) -> Stamp | None:
        return stamp_of(stat, self._verified.clock.wall())


class _Suspended:
    """Suspends a command that runs without an event loop. It starts again with one, which has threads and time
    limits."""

    def __await__(self) -> Generator[None, None, None]:
        yield


def damaged_error(object: StoredObject, detail: str) -> Corrupt:
    return Corrupt(
        f"{object} is damaged, at {object.address}: {detail}",
        hint="restore this file from a copy of the lake; nothing was changed",
    )


def gone_error(object: StoredObject) -> Gone:
    return Gone(
        f"{object} is gone: {object.address} is no longer on the store",
        hint="it may have been purged or deleted by hand; with --go-on the query reads the rest",
    )


def gone_meanwhile(object: StoredObject) -> Gone:
    """Returns the error for an object that was found before: it was not deleted by hand long ago."""
    return Gone(
        f"{object} is gone: {object.address} was there when the query began, and is no longer on the store",
        hint="garbage collection deletes what has moved or expired, a grace later; run the query again",
    )


def _digest(path: str) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _lots(placed: Iterable[PlacedObject]) -> Iterator[list[PlacedObject]]:
    held: list[PlacedObject] = []
    size = 0
    for each in placed:
        held.append(each)
        size += each.object.size
        if size >= _LOT_BYTES:
            yield held
            held, size = [], 0
    if held:
        yield held
