"""Objects on their way to a folder: first all are checked by name, then eight at a time are written, whole or not."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from lochan.cli.listed import entries, folder, last_name, view_of
from lochan.cli.opened import Opened
from lochan.cli.progress import Advance, progress
from lochan.errors import AlreadyExists, NotFound, Refused

if TYPE_CHECKING:
    from lochan.formats.entry import Entry

_WIDTH = 8  # files at a time
_PART = ".lochan-part"  # how the name of a file begins that is not complete yet


class Download:
    def __init__(self, opened: Opened, target: Path, *, force: bool, bar: bool) -> None:
        self._opened = opened
        self._target = target
        self._force = force
        self._bar = bar
        self._numbers = count(1)

    async def one(self, path: str, target: str) -> tuple[int, int]:
        """How many objects, and their bytes."""
        from lochan.versioning.objects import stat

        entry = await stat(self._opened.repository, self._opened.ref, path)
        file = self._target
        if file.is_dir() or target.endswith("/"):
            file = inside(file, last_name(path))
        self._check_free(file)
        with progress("downloading", entry.size, wanted=self._bar) as advance:
            await self._write(entry, file, advance)
        return 1, entry.size

    async def folder(self, path: str) -> tuple[int, int]:
        prefix = folder(path)
        view = await view_of(self._opened)
        found = total = 0
        async for entry in entries(view, prefix):
            self._check_free(inside(self._target, entry.path[len(prefix) :]))
            found, total = found + 1, total + entry.size
        if not found:
            raise NotFound(f"no objects in {path or '/'!r} at {self._opened.ref}", hint="without -r one object is read")
        with progress("downloading", total, wanted=self._bar) as advance:
            await self._write_all(entries(view, prefix), len(prefix), advance)
        return found, total

    async def _write_all(self, found: "AsyncIterator[Entry]", skip: int, advance: Advance) -> None:
        turn = asyncio.Lock()  # the listing can be asked by one at a time

        async def worker() -> None:
            while True:
                async with turn:
                    entry = await anext(found, None)
                if entry is None:
                    return
                await self._write(entry, inside(self._target, entry.path[skip:]), advance)

        async with asyncio.TaskGroup() as group:
            for _ in range(_WIDTH):
                group.create_task(worker())

    def _check_free(self, file: Path) -> None:
        if not self._force and os.path.lexists(file):
            raise AlreadyExists(f"{file} is there already", hint="say --force to replace it")

    async def _write(self, entry: "Entry", file: Path, advance: Advance) -> None:
        await asyncio.to_thread(file.parent.mkdir, parents=True, exist_ok=True)
        part = file.with_name(f"{_PART}-{os.getpid()}-{next(self._numbers)}")
        try:
            with part.open("xb") as out:
                async with aclosing(self._opened.repository.reader.read(entry)) as pieces:
                    async for piece in pieces:
                        await asyncio.to_thread(out.write, piece)
                        advance(len(piece))
            part.replace(file)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise


def inside(target: Path, path: str) -> Path:
    """The file for a path, in the folder `target` for certain. Raises Refused where there is none: a path may hold
    anything, and a folder may hold links to elsewhere."""
    names = path.split("/")
    if any(name in ("", ".", "..") for name in names):
        raise Refused(
            f"{path!r} was not downloaded: as a file it would not lie in {target}", hint="use `lochan fs cat`"
        )
    file = target.joinpath(*names)
    root = target.resolve()
    if not file.parent.resolve().is_relative_to(root):
        raise Refused(f"{path!r} was not downloaded: a link leads out of {target}", hint="choose another folder")
    return file
