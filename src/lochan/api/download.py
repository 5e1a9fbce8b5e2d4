"""Downloads objects to a folder. First all are checked by name, then eight at a time are written, each whole or not at
all."""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractContextManager, aclosing, nullcontext, suppress
from itertools import count
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Protocol

from lochan.api.local_files import Report
from lochan.errors import AlreadyExists, NotFound, Refused

if TYPE_CHECKING:
    from lochan.formats.entry import Entry
    from lochan.staging.view import View
    from lochan.versioning.open_repository import OpenRepository

_WIDTH = 8  # files at a time
_REPORTED_MAX = 20  # how many of the objects that are left out are reported by name
# The disk's errors for a name that it cannot have, or not beside an existing one.
_NO_SUCH_NAME = {errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.EILSEQ, errno.EINVAL}
_PART = ".lochan-part"  # how the name of a file begins that is not complete yet


Advance = Callable[[int], None]
Progress = Callable[[int], AbstractContextManager[Advance]]  # from the total of bytes to what is called with each piece
_PAGE = 1_000


class SizedObject(Protocol):
    @property
    def path(self) -> str: ...
    @property
    def size(self) -> int: ...


class ObjectSource(Protocol):
    """The objects of a ref, as they are at one moment."""

    @property
    def name(self) -> str:
        """The name of the source, as in `demo@main`."""

    async def stat(self, path: str) -> SizedObject:
        """Returns the object at that path. Raises NotFound."""

    def list(self, prefix: str) -> AsyncIterator[SizedObject]:
        """Yields the objects in path order. A second call yields the same."""

    def read(self, found: Any) -> AsyncGenerator[bytes, None]: ...


class Download:
    def __init__(
        self, source: ObjectSource, target: Path, force: bool, progress: Progress | None, report: Report
    ) -> None:
        self._source = source
        self._target = target
        self._force = force
        self._progress = progress or _no_progress
        self._report = report
        self._numbers = count(1)
        self._written = 0, 0  # objects and bytes, of a folder
        self.skipped = 0  # objects of a folder that cannot be files here

    async def one(self, path: str, *, into_folder: bool) -> tuple[int, int]:
        """Downloads one object. Returns the number of objects, and their bytes."""
        entry = await self._source.stat(path)
        file = self._target
        if file.is_dir() or into_folder:
            file = inside(file, path.rpartition("/")[2])
        self._check_free(file)
        with self._progress(entry.size) as advance:
            await self._write(entry, file, advance)
        return 1, entry.size

    async def folder(self, path: str) -> tuple[int, int]:
        """Downloads a folder. Objects that cannot be files here are left out and reported; `skipped` counts them."""
        prefix = path if not path or path.endswith("/") else f"{path}/"
        found = total = 0
        names = FileNames(self._target)
        async for entry in self._source.list(prefix):
            file = self._file(names, prefix, entry.path[len(prefix) :])
            if file is not None:
                self._check_free(file)
                found, total = found + 1, total + entry.size
        if not found and not self.skipped:
            ref = self._source.name.partition("@")[2]
            raise NotFound(f"no objects in {path or '/'!r} at {ref}", hint="without -r, one object is downloaded")
        with self._progress(total) as advance:
            await self._write_all(self._source.list(prefix), len(prefix), advance)
        return self._written

    def _file(self, names: FileNames, prefix: str, path: str) -> Path | None:
        try:
            return names.file(path)
        except Refused as error:
            self._skip(error.message, error.hint or self._print_hint(prefix + path))
        return None

    def _print_hint(self, path: str) -> str:
        """Returns a hint for an object that cannot become a file."""
        uri = f"{self._source.name}/{path}"
        return f"`lochan fs cat {quote(uri)}` prints it"

    def _skip(self, why: str, hint: str = "") -> None:
        self.skipped += 1
        if self.skipped <= _REPORTED_MAX:
            self._report(why, hint)

    async def _write_all(self, found: AsyncIterator[SizedObject], skip: int, advance: Advance) -> None:
        import asyncio

        turn = asyncio.Lock()  # only one task at a time can read the listing
        names = FileNames(self._target)

        async def next_file() -> tuple[SizedObject, Path] | None:
            async for entry in found:
                with suppress(Refused):  # reported before
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

    async def _write_or_skip(self, entry: SizedObject, file: Path, advance: Advance) -> None:
        try:
            await self._write(entry, file, advance)
        except OSError as error:
            if error.errno not in _NO_SUCH_NAME:
                raise
            self._skip(f"{entry.path!r} was not downloaded: {file}: {error.strerror}", self._print_hint(entry.path))
            return
        self._written = self._written[0] + 1, self._written[1] + entry.size

    def _check_free(self, file: Path) -> None:
        if not self._force and os.path.lexists(file):
            raise AlreadyExists(f"{file} is there already", hint="give --force to replace it")

    async def _write(self, entry: SizedObject, file: Path, advance: Advance) -> None:
        import asyncio

        await asyncio.to_thread(file.parent.mkdir, parents=True, exist_ok=True)
        part = file.with_name(f"{_PART}-{os.getpid()}-{next(self._numbers)}")
        try:
            with part.open("xb") as out:
                async with aclosing(self._source.read(entry)) as pieces:
                    async for piece in pieces:
                        await asyncio.to_thread(out.write, piece)
                        advance(len(piece))
            part.replace(file)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise


class RefObjects:
    """Reads the objects of a ref in an open repository."""

    def __init__(self, repository: OpenRepository, ref: str) -> None:
        self._repository = repository
        self._ref = ref
        self._view: View | None = None

    @property
    def name(self) -> str:
        return f"{self._repository.repository.name}@{self._ref}"

    async def stat(self, path: str) -> Entry:
        from lochan.versioning.objects import stat

        return await stat(self._repository, self._ref, path)

    async def list(self, prefix: str) -> AsyncIterator[Entry]:
        if self._view is None:
            self._view = await self._repository.view(await self._repository.resolve(self._ref, workspaces=True))
        after: str | None = ""
        while after is not None:
            page = await self._view.list(prefix, after, "", _PAGE)
            for entry in page.entries:
                yield entry
            after = page.next

    def read(self, found: Entry) -> AsyncGenerator[bytes, None]:
        return self._repository.reader.read(found)


def _no_progress(_: int) -> AbstractContextManager[Advance]:
    return nullcontext(lambda _: None)


class FileNames:
    """Finds the file for each path of a listing. REQUIRES: the paths come in order, as listings have them."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._begun: list[str] = []  # the paths so far that the last one begins with

    def file(self, path: str) -> Path:
        """Returns the file for the next path. Raises Refused for a path that cannot be a file in the target, or not
        beside one that came before it."""
        while self._begun and not path.startswith(self._begun[-1]):
            self._begun.pop()
        above = next((each for each in self._begun if path.startswith(f"{each}/")), None)
        if above is not None:
            raise Refused(f"{path!r} was not downloaded: {above!r} is an object too, and a file cannot be a folder")
        file = inside(self._target, path)
        self._begun.append(path)
        return file


def inside(target: Path, path: str) -> Path:
    """Returns the file for a path, certainly within the folder `target`. Raises Refused if there is none: a path may
    have any characters, and a folder may have links to elsewhere."""
    names = path.split("/")
    if any(name in ("", ".", "..") or "\0" in name for name in names):
        raise Refused(f"{path!r} was not downloaded: as a file it would not be in {target}")
    file = target.joinpath(*names)
    root = target.resolve()
    if not file.parent.resolve().is_relative_to(root):
        raise Refused(f"{path!r} was not downloaded: a link leads out of {target}", hint="choose another folder")
    return file
