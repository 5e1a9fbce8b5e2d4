"""Objects on their way to a folder: first all are checked by name, then eight at a time are written, whole or not."""

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from itertools import count
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from lochan.cli.error_boundary import print_message
from lochan.cli.fs.listing import entries, folder, last_name, view_of
from lochan.cli.open_ref import OpenRef
from lochan.cli.output.progress import Advance, progress
from lochan.cli.uri import Uri
from lochan.errors import AlreadyExists, NotFound, Refused

if TYPE_CHECKING:
    from lochan.formats.entry import Entry

_WIDTH = 8  # files at a time
_SAID_MAX = 20  # of those that are left out, by name
# What the disk says of a name that it cannot have, or not beside another that is there.
_NO_SUCH_NAME = {errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.EILSEQ, errno.EINVAL}
_PART = ".lochan-part"  # how the name of a file begins that is not complete yet


class Download:
    def __init__(self, opened: OpenRef, target: Path, *, force: bool, bar: bool) -> None:
        self._opened = opened
        self._target = target
        self._force = force
        self._bar = bar
        self._numbers = count(1)
        self._written = 0, 0  # objects and bytes, of a folder
        self.skipped = 0  # objects of a folder that no file can be made of here

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
        """What cannot be a file here is left out, and said; `skipped` counts it."""
        prefix = folder(path)
        view = await view_of(self._opened)
        found = total = 0
        names = Names(self._target)
        async for entry in entries(view, prefix):
            file = self._file(names, prefix, entry.path[len(prefix) :])
            if file is not None:
                self._check_free(file)
                found, total = found + 1, total + entry.size
        if not found and not self.skipped:
            raise NotFound(f"no objects in {path or '/'!r} at {self._opened.ref}", hint="without -r one object is read")
        with progress("downloading", total, wanted=self._bar) as advance:
            await self._write_all(entries(view, prefix), len(prefix), advance)
        return self._written

    def _file(self, names: "Names", prefix: str, path: str) -> Path | None:
        try:
            return names.file(path)
        except Refused as error:
            self._skip(error.message, error.hint or self._print(prefix + path))
        return None

    def _print(self, path: str) -> str:
        """What can be done with an object that no file can be made of."""
        uri = Uri(self._opened.repository.repository.name, self._opened.ref, path)
        return f"`lochan fs cat {quote(str(uri))}` prints it"

    def _skip(self, why: str, hint: str = "") -> None:
        self.skipped += 1
        if self.skipped <= _SAID_MAX:
            print_message(why, hint)

    async def _write_all(self, found: "AsyncIterator[Entry]", skip: int, advance: Advance) -> None:
        turn = asyncio.Lock()  # the listing can be asked by one at a time
        names = Names(self._target)

        async def next_file() -> "tuple[Entry, Path] | None":
            async for entry in found:
                with suppress(Refused):  # said before
                    return entry, names.file(entry.path[skip:])
            return None

        async def worker() -> None:
            while True:
                async with turn:
                    next = await next_file()
                if next is None:
                    return
                await self._write_or_skip(*next, advance)

        async with asyncio.TaskGroup() as group:
            for _ in range(_WIDTH):
                group.create_task(worker())

    async def _write_or_skip(self, entry: "Entry", file: Path, advance: Advance) -> None:
        try:
            await self._write(entry, file, advance)
        except OSError as error:
            if error.errno not in _NO_SUCH_NAME:
                raise
            self._skip(f"{entry.path!r} was not downloaded: {file}: {error.strerror}", self._print(entry.path))
            return
        self._written = self._written[0] + 1, self._written[1] + entry.size

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


class Names:
    """Which file each path of a listing becomes. REQUIRES: the paths come in order, as listings have them."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._begun: list[str] = []  # the paths so far that the last one begins with

    def file(self, path: str) -> Path:
        """Raises Refused for a path that cannot be a file in the target, or not beside one that came before it."""
        while self._begun and not path.startswith(self._begun[-1]):
            self._begun.pop()
        above = next((each for each in self._begun if path.startswith(f"{each}/")), None)
        if above is not None:
            raise Refused(
                f"{path!r} was not downloaded: {above!r} is an object too, and no file can be a folder",
            )
        file = inside(self._target, path)
        self._begun.append(path)
        return file


def inside(target: Path, path: str) -> Path:
    """The file for a path, in the folder `target` for certain. Raises Refused where there is none: a path may hold
    anything, and a folder may hold links to elsewhere."""
    names = path.split("/")
    if any(name in ("", ".", "..") or "\0" in name for name in names):
        raise Refused(f"{path!r} was not downloaded: as a file it would not lie in {target}")
    file = target.joinpath(*names)
    root = target.resolve()
    if not file.parent.resolve().is_relative_to(root):
        raise Refused(f"{path!r} was not downloaded: a link leads out of {target}", hint="choose another folder")
    return file
