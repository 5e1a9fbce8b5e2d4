"""The sources of a load: files, folders, globs, URLs and open files, found before the first is opened."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, Union, cast

from lochan.api.local_files import Report, files_in, ignore_report, matching, no_file, place_url
from lochan.errors import Invalid, NotFound
from lochan.runtime import PipeReader

if TYPE_CHECKING:
    from lochan.ingest.streams import Input
    from lochan.jobs.load.files import File
    from lochan.lake import Lake
    from lochan.store.protocol import Stat, Store

_GLOB = frozenset("*?[")
_KEPT_BYTES_MAX = 1 << 20


class Stream:
    """An open file, such as standard input. It can be read in this process alone, and once."""

    size = None

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.name = "standard input" if stream is sys.stdin.buffer else str(getattr(stream, "name", "an open file"))

    def as_input(self) -> Input:
        from lochan.ingest.streams import Input

        return Input(self.name, Again(self._stream).open)


LoadSource = Union["File", Stream]
Given = str | PathLike[str] | BinaryIO


async def find_sources(
    lake: Lake, given: Sequence[Given], *, follow_links: bool = False, report: Report = ignore_report
) -> list[LoadSource]:
    """Finds the sources, without the folder of the lake itself. Raises NotFound, Invalid."""
    if any(given.count(each) > 1 for each in given if not isinstance(each, str | PathLike)):
        raise Invalid("standard input can be read once", hint="give - once")
    left_out = None if lake.folder is None else Path(lake.folder)
    found: list[LoadSource] = []
    for each in given:
        if not isinstance(each, str | PathLike):
            found.append(Stream(each))
        elif "://" in fspath(each) and not fspath(each).startswith("file://"):
            found += await _stored_files(lake, place_url(fspath(each)))
        else:
            found += _local_files(fspath(each), left_out, follow_links, report)
    return found


@asynccontextmanager
async def inputs(lake: Lake, found: Sequence[LoadSource]) -> AsyncIterator[list[Input]]:
    """Opens the inputs. Files on other stores are copied to this machine's disk for as long as they are needed."""
    from tempfile import TemporaryDirectory

    from lochan.store.scratch import place

    with TemporaryDirectory(prefix="lochan-load-", dir=place()) as folder:
        yield [
            each.as_input()
            if isinstance(each, Stream) or each.place is None
            else await _copy_input(lake, each, Path(folder) / str(number))
            for number, each in enumerate(found)
        ]


class Again:
    """A stream whose beginning can be read twice: once to detect its format, then as a part of the whole."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = PipeReader(stream)
        self._kept = b""

    def open(self) -> IO[bytes]:
        return cast(IO[bytes], _Reading(self))

    def read(self, at: int, size: int) -> bytes:
        if at < len(self._kept):
            return self._kept[at : at + size]
        data = self._stream.read(size)
        if at < _KEPT_BYTES_MAX:
            self._kept += data
        return data


class _Reading:
    def __init__(self, again: Again) -> None:
        self._again = again
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        data = self._again.read(self._at, size)
        self._at += len(data)
        return data

    def close(self) -> None:
        pass


def local_sources(source: str, follow_links: bool, report: Report) -> list[File]:
    """Returns files of this machine: a path, a folder, a glob. Raises NotFound."""
    return _local_files(source, None, follow_links, report)


def _local_files(source: str, left_out: Path | None, follow_links: bool, report: Report) -> list[File]:
    from lochan.jobs.load.files import local_file

    paths = [_path_of(source)]
    if not paths[0].exists() and _GLOB & set(source):
        paths = matching(paths[0])
        if not paths:
            raise NotFound(f"no file matches {source}")
    files = [file for path in paths for file in _files(path, left_out, follow_links, report)]
    if not files:
        raise NotFound(f"no files in {source}", hint="nothing was loaded")
    return [local_file(each) for each in files]


def _path_of(source: str) -> Path:
    if not source.startswith("file://"):
        return Path(source)
    from urllib.parse import unquote

    return Path(unquote(source.removeprefix("file://").removeprefix("localhost")))


def _files(path: Path, left_out: Path | None, follow_links: bool, report: Report) -> Iterator[Path]:
    if not path.exists():
        raise no_file(path)
    if not path.is_dir():
        yield path
        return
    yield from files_in(path, lake=left_out, follow_links=follow_links, with_hidden=False, report=report)


async def _stored_files(lake: Lake, url: str) -> list[File]:
    from lochan.jobs.load.files import File
    from lochan.store.open import StoreLocation

    outside = lake.outside()
    assert outside is not None, "a command line can name any place"
    store, path = outside.find(url)
    root = url[: len(url) - len(path)] if path else f"{url.rstrip('/')}/"
    place = StoreLocation(root.rstrip("/"), lake.place.options).for_others()
    found = [File(root + stat.path, stat.path, stat.size, stat.etag, place) async for stat in _stats(store, path)]
    if not found:
        raise NotFound(f"there is nothing at {url}", hint="nothing was loaded")
    return found


async def _copy_input(lake: Lake, file: File, copy: Path) -> Input:
    from lochan.ingest.streams import file_input

    outside = lake.outside()
    assert outside is not None
    store, path = outside.find(file.name)
    with copy.open("wb") as into:
        async for piece in store.get_stream(path):
            into.write(piece)
    return file_input(copy, file.name)


async def _stats(store: Store, path: str) -> AsyncIterator[Stat]:
    """Yields the object itself, the objects of a folder, or those that match a glob."""
    from fnmatch import fnmatchcase

    if path and not path.endswith("/") and not _GLOB & set(path):
        try:
            yield await store.head(path)
            return
        except NotFound:
            pass
    at = min((path.find(mark) for mark in _GLOB if mark in path), default=-1)
    prefix = path[:at] if at >= 0 else f"{path.rstrip('/')}/" if path else ""
    async for stat in store.list(prefix):
        if at < 0 or fnmatchcase(stat.path, path):
            yield stat
