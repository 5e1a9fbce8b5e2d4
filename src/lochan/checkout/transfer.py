"""Writes files into a folder: many at a time, each as a whole or not at all."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from itertools import count
from pathlib import Path
from typing import Protocol

from lochan.checkout.cache import ContentCache
from lochan.checkout.changes import file_state
from lochan.checkout.plan import RemoteFile
from lochan.checkout.state import FileState
from lochan.concurrency import map_concurrently
from lochan.errors import AlreadyExists

_WIDTH = 16  # files at a time
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_SMALL_BYTES = 256 << 10  # written at once: a thread would cost more

Advance = Callable[[int], None]  # called with the number of further bytes


class FileSource(Protocol):
    """The objects of one commit."""

    def read_now(self, file: RemoteFile) -> bytes | None:
        """Returns all bytes of a small file, if it can be read without waiting, or None; then use `stream`."""

    def stream(self, file: RemoteFile) -> AsyncIterator[bytes]:
        """Yields the bytes of a file. Raises Gone, Corrupt."""


class Transfer:
    """Writes files into the folder `top`. `parts` is a folder on the same disk."""

    def __init__(self, top: Path, parts: Path, source: FileSource, cache: ContentCache | None, advance: Advance):
        self._top = f"{top}/"
        self._parts = f"{parts}/"
        self._source = source
        self._cache = cache
        self._advance = advance
        self._numbers = count(1)
        self._folders = {""}

    async def all(self, files: Sequence[RemoteFile], known: Mapping[str, FileState]) -> dict[str, FileState]:
        """Writes the files, and returns their new states. Those in `known` are replaced. Raises AlreadyExists if a file
        was changed or created meanwhile; it stays."""
        done: dict[str, FileState] = {}
        waiting = []
        for file in files:
            made = self._now(file, known.get(file.path))
            if made is None:
                waiting.append(file)
            else:
                done[file.path] = made

        async def one(file: RemoteFile) -> None:
            done[file.path] = await self._streamed(file, known.get(file.path))

        await map_concurrently(one, waiting, _WIDTH)
        return done

    def _now(self, file: RemoteFile, before: FileState | None) -> FileState | None:
        if self._cache is not None and file.key:
            cached = self._cache.find(file.key, file.size)
            if cached is not None and file.md5:
                self._link(cached, file.path, before)
                self._advance(file.size)
                return FileState(file.size, file.md5, cached.stat().st_mtime_ns)
        data = self._source.read_now(file)
        if data is None:
            return None
        part = f"{self._parts}{next(self._numbers)}"
        opened = os.open(part, _NEW_FILE, 0o666)
        try:
            _write(opened, data)
            mtime_ns = os.fstat(opened).st_mtime_ns
        finally:
            os.close(opened)
        self._advance(len(data))
        md5 = file.md5 or hashlib.md5(data, usedforsecurity=False).hexdigest()
        return self._finish(file, part, FileState(len(data), md5, mtime_ns), before)

    async def _streamed(self, file: RemoteFile, before: FileState | None) -> FileState:
        import asyncio

        part = f"{self._parts}{next(self._numbers)}"
        digest, size = hashlib.md5(usedforsecurity=False), 0
        opened = os.open(part, _NEW_FILE, 0o666)
        try:
            async with aclosing(self._source.stream(file)) as pieces:  # type: ignore[type-var]
                async for piece in pieces:
                    if len(piece) <= _SMALL_BYTES:
                        _write(opened, piece)
                    else:
                        await asyncio.to_thread(_write, opened, piece)
                    digest.update(piece)
                    size += len(piece)
                    self._advance(len(piece))
            mtime_ns = os.fstat(opened).st_mtime_ns
        finally:
            os.close(opened)
        return self._finish(file, part, FileState(size, digest.hexdigest(), mtime_ns), before)

    def _finish(self, file: RemoteFile, part: str, made: FileState, before: FileState | None) -> FileState:
        """Moves a complete part to its place."""
        if self._cache is not None and file.key:
            cached = self._cache.add(file.key, Path(part))
            self._link(cached, file.path, before)
            return FileState(made.size, made.md5, cached.stat().st_mtime_ns)
        place = self._place(file.path)
        if before is not None:
            check_unchanged(place, before)
            os.rename(part, place)  # noqa: PTH104
            return made
        try:
            os.link(part, place)
        except FileExistsError:
            raise _came(place) from None
        os.unlink(part)  # noqa: PTH108
        return made

    def _link(self, cached: Path, path: str, before: FileState | None) -> None:
        place = self._place(path)
        if before is not None:
            check_unchanged(place, before)
            part = f"{self._parts}{next(self._numbers)}"
            os.link(cached, part)
            os.rename(part, place)  # noqa: PTH104
            return
        try:
            os.link(cached, place)
        except FileExistsError:
            raise _came(place) from None

    def _place(self, path: str) -> str:
        folder = path.rpartition("/")[0]
        if folder not in self._folders:
            os.makedirs(self._top + folder, exist_ok=True)  # noqa: PTH103
            self._folders.add(folder)
        return self._top + path


def _write(opened: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(opened, view) :]


def check_unchanged(place: str, before: FileState) -> None:
    """Checks a file just before it is replaced or removed. Raises AlreadyExists if it was changed meanwhile."""
    try:
        about = os.lstat(place)
        if (about.st_size, about.st_mtime_ns) == (before.size, before.mtime_ns):
            return
        now = file_state(Path(place))
    except FileNotFoundError:
        return
    except OSError:  # a link or a folder
        raise _came(place) from None
    if (now.size, now.md5) != (before.size, before.md5):
        raise _came(place)


def _came(place: str) -> AlreadyExists:
    why = f"{place} has come or was changed meanwhile, and was not overwritten"
    return AlreadyExists(why, hint="move it away, and pull again")


def remove_files(top: Path, paths: Sequence[str], known: Mapping[str, FileState]) -> None:
    """Removes files, and folders that are empty then. Raises AlreadyExists for a file that was changed meanwhile, which
    stays."""
    folders = set()
    for path in paths:
        check_unchanged(f"{top}/{path}", known[path])
        (top / path).unlink(missing_ok=True)
        folders.update(_above(path))
    for folder in sorted(folders, key=len, reverse=True):
        try:
            (top / folder).rmdir()
        except OSError:  # something is in it
            continue


def _above(path: str) -> list[str]:
    names = path.split("/")[:-1]
    return ["/".join(names[: end + 1]) for end in range(len(names))]
