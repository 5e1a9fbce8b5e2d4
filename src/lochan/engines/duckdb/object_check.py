"""Files of data objects on this machine: each has the size and the SHA-256 that its entry tells, before a row of it is
believed.

A file is read for that once for each stamp (`store/verified_files.py`); before rows are copied into new files, each
time.
"""

# ruff: noqa: PTH116, PTH123
from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from lochan.errors import Corrupt, Gone, LochanError
from lochan.runtime import running_loop
from lochan.store.checked_reads import ReadDoubt
from lochan.store.disk import translate
from lochan.store.threads import for_tables
from lochan.store.verified_files import Stamp, VerifiedFiles, stamp_of

_INLINE_BYTES_MAX = 16 << 20  # takes some 50 ms, as long as to import asyncio
_LOT_BYTES = 16 << 20  # of small files that one turn through a thread checks

_threads = for_tables()


class StoredObject(Protocol):
    """A data object, or another file of the lake; its text is what it is called in a message."""

    @property
    def address(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def sha256(self) -> bytes: ...


class PlacedObject(NamedTuple):
    object: StoredObject
    path: str  # "": it is gone


class ObjectCheck:
    def __init__(self, verified: VerifiedFiles) -> None:
        self._verified = verified

    async def check(self, placed: Sequence[PlacedObject], *, recheck: bool = False) -> list[str]:
        """The path of each that is there, "" for one that is not. Raises Corrupt. `recheck`: what was found out before
        does not count."""
        gone: set[str] = {""}
        doubtful = [each for each in placed if each.path and self._is_doubtful(each, recheck, gone)]
        if doubtful:
            try:
                gone.update(await self._gone_of(doubtful))
            finally:
                self._verified.save()
        return ["" if each.path in gone else each.path for each in placed]

    def failure(self, placed: Iterable[PlacedObject]) -> LochanError | None:
        """What is wrong with the first that is gone or damaged, in the caller's thread: for who got an error from an
        engine that was to read them."""
        for each in placed:
            try:
                self.check_now(each)
            except FileNotFoundError:
                return gone(each.object)
            except Corrupt as error:
                return error
            except OSError as error:
                return translate(error, each.path)
        return None

    def check_now(self, placed: PlacedObject) -> None:
        """Raises Corrupt, after a second reading; FileNotFoundError."""
        object, path = placed
        stat = os.stat(path)
        if stat.st_size != object.size:
            stat = os.stat(path)
        if stat.st_size != object.size:
            raise damaged(object, f"it has {stat.st_size} bytes instead of {object.size}")
        doubt = ReadDoubt()
        while (digest := _digest(path)) != object.sha256:
            if not doubt.again(digest):
                raise damaged(object, "its SHA-256 is not the one it was written with")
        stamp = self._stamp(stat)
        if stamp == self._stamp(os.stat(path)):
            self._verified.add(self._name(placed), stamp, object.sha256)

    async def _gone_of(self, doubtful: Sequence[PlacedObject]) -> list[str]:
        """Checks them; the paths of those that are gone."""
        if running_loop() is None:
            if sum(each.object.size for each in doubtful) > _INLINE_BYTES_MAX:
                await _Suspended()
            return self._check_lot(doubtful)
        import asyncio

        lots = await asyncio.gather(*(_threads.run(self._check_lot, lot) for lot in _lots(doubtful)))
        return [path for lot in lots for path in lot]

    def _check_lot(self, lot: Sequence[PlacedObject]) -> list[str]:
        """The paths that are gone."""
        gone = []
        for each in lot:
            try:
                self.check_now(each)
            except FileNotFoundError:
                gone.append(each.path)
            except OSError as error:
                raise translate(error, each.path) from error
        return gone

    def _is_doubtful(self, placed: PlacedObject, recheck: bool, gone: set[str]) -> bool:
        try:
            stat = os.stat(placed.path)
        except (FileNotFoundError, NotADirectoryError):
            gone.add(placed.path)
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
    """Whoever runs a command without an event loop begins again with one, which has threads, and limits of time."""

    def __await__(self) -> Generator[None, None, None]:
        yield


def damaged(object: StoredObject, how: str) -> Corrupt:
    return Corrupt(
        f"{object} is damaged, at {object.address}: {how}",
        hint="restore this file from a copy of the lake; nothing was changed",
    )


def gone(object: StoredObject) -> Gone:
    return Gone(
        f"{object} is gone: {object.address} is not on the store any more",
        hint="was it purged, or deleted by hand? with --go-on the query reads what is left",
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
