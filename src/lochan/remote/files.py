"""Transfers files of this machine to and from a remote lake: they are found, read and written here, and sent as
streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from os import PathLike
from os.path import commonprefix
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from lochan.api.download import Download
from lochan.api.download import Progress as DownloadProgress
from lochan.api.local_files import Report
from lochan.api.object_results import DownloadResult, FolderResult, ObjectInfo, UploadResult
from lochan.api.results import microseconds
from lochan.api.spooled_files import ARCHIVE_END, archive_head, archive_padding
from lochan.api.upload import Progress, UploadFile, file_md5, file_pieces, type_of
from lochan.api.writable import found_files
from lochan.concurrency import map_concurrently
from lochan.errors import Invalid, NotFound
from lochan.remote.opened import RemoteOpenObject

if TYPE_CHECKING:
    from pyarrow import Table

    from lochan.remote.nouns import RemoteRef, RemoteWritable

_WIDTH = 8  # files at a time
_ARCHIVES = 2  # archives at a time
_SMALL_BYTES = 1 << 20  # the most bytes of a file that is sent in an archive with others
_BATCH, _BATCH_BYTES = 500, 64 << 20  # the most files and bytes of one archive


class RemoteObjects:
    """The objects of a ref. Listed objects are read by their ETags: if one is replaced meanwhile, its download is
    refused."""

    def __init__(self, ref: RemoteRef) -> None:
        self._ref: Any = ref
        self.name = f"{ref.repository_name}@{ref.name}"

    async def stat(self, path: str) -> ObjectInfo:
        found: ObjectInfo = await self._ref.stat(path)
        return found

    async def list(self, prefix: str) -> AsyncIterator[ObjectInfo]:
        async for found in self._ref.list(prefix):
            yield found

    def read(self, found: ObjectInfo) -> AsyncGenerator[bytes, None]:
        return RemoteOpenObject.of(self._ref, found).stream()


async def download(ref: RemoteRef, path: str, to: str | PathLike[str], force: bool, progress: Any) -> FolderResult:
    work = Download(RemoteObjects(ref), Path(to), force, progress, lambda *_: None)
    objects, size = await work.one(path, into_folder=str(to).endswith("/"))
    return FolderResult(objects=objects, bytes=size)


async def download_folder(
    ref: RemoteRef,
    prefix: str,
    to: str | PathLike[str],
    force: bool,
    progress: DownloadProgress | None,
    report: Report,
) -> DownloadResult:
    work = Download(RemoteObjects(ref), Path(to), force, progress, report)
    objects, size = await work.folder(prefix)
    return DownloadResult(objects=objects, bytes=size, skipped=work.skipped)


class FileBody:
    """The bytes of a file, which can be sent again if the first attempt failed."""

    is_lasting = True

    def __init__(self, file: Path, progress: Progress | None) -> None:
        self._file = file
        self._progress = progress

    def __aiter__(self) -> AsyncIterator[bytes]:
        return file_pieces(self._file, self._progress)


def _single_use_body(source: UploadFile, progress: Progress | None) -> AsyncIterator[bytes]:
    return file_pieces(source.file, progress)


class ArchiveBody:
    """Files as an archive, which can be sent again."""

    is_lasting = True

    def __init__(self, files: Sequence[UploadFile], skip: int, progress: Progress | None) -> None:
        self._files = files
        self._skip = skip  # how many characters of each path name the folder
        self._progress = progress

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for each in self._files:
            assert isinstance(each.file, Path), "an open file is sent by itself"
            data = await asyncio.to_thread(each.file.read_bytes)
            if self._progress is not None:
                self._progress(len(data))
            yield archive_head(each.path[self._skip :], len(data)) + data + archive_padding(len(data))
        yield ARCHIVE_END


def _batches(files: Sequence[UploadFile]) -> Iterator[Sequence[UploadFile]]:
    begin, size = 0, 0
    for at, file in enumerate(files):
        if at > begin and (at - begin == _BATCH or size + file.size > _BATCH_BYTES):
            yield files[begin:at]
            begin, size = at, 0
        size += file.size
    if begin < len(files):
        yield files[begin:]


class RemoteFileUpload:
    def __init__(
        self,
        ref: RemoteWritable,
        content_type: str | None,
        metadata: Mapping[str, str] | None,
        key: str,
        progress: Progress | None,
    ) -> None:
        self._ref: Any = ref
        self._content_type = content_type
        self._metadata = dict(metadata or {})
        self._key = key
        self._progress = progress

    async def run(self, files: Sequence[UploadFile], *, resume: bool) -> UploadResult:
        """Uploads the files. Each is staged separately, under a key of its own."""
        if resume and any(not isinstance(each.file, Path) for each in files):
            raise Invalid("standard input cannot be resumed", hint="upload it again as a whole, or from a file")
        left = await self._find_missing(files) if resume else files
        small = [each for each in left if isinstance(each.file, Path) and each.size <= _SMALL_BYTES]
        if len(small) == 1:
            small = []
        large = [each for each in left if each not in small]
        sizes = await map_concurrently(self._put, large, _WIDTH)
        sizes += await map_concurrently(self._put_small, list(_batches(small)), _ARCHIVES)
        return UploadResult(objects=len(left), bytes=sum(sizes), skipped=len(files) - len(left))

    async def _find_missing(self, files: Sequence[UploadFile]) -> Sequence[UploadFile]:
        there = await map_concurrently(self._is_there, files, _WIDTH)
        return [each for each, found in zip(files, there, strict=True) if not found]

    async def _put_small(self, files: Sequence[UploadFile]) -> int:
        """Puts many files in one request."""
        folder = commonprefix([each.path for each in files]).rpartition("/")[0]  # noqa: RUF071 - up to a slash
        to = f"{folder}/" if folder else ""  # rights are checked for this folder
        done: UploadResult = await self._ref.upload_archive(
            ArchiveBody(files, len(to), self._progress),
            to,
            content_type=self._content_type,
            metadata=self._metadata,
            key=f"{self._key}/{files[0].path}" if self._key else "",
        )
        return done.bytes

    async def _put(self, source: UploadFile) -> int:
        made: ObjectInfo = await self._ref.put(
            source.path,
            FileBody(source.file, self._progress)
            if isinstance(source.file, Path)
            else _single_use_body(source, self._progress),
            content_type=type_of(source.path, self._ref.name, self._content_type),
            metadata=self._metadata,
            key=f"{self._key}/{source.path}" if self._key else "",
        )
        return made.size

    async def _is_there(self, source: UploadFile) -> bool:
        try:
            found: ObjectInfo = await self._ref.stat(source.path)
        except NotFound:
            return False
        same = found.size == source.size and found.metadata == self._metadata
        if not same or found.content_type != type_of(source.path, self._ref.name, self._content_type):
            return False
        assert isinstance(source.file, Path), "an open file is not resumed"
        if await asyncio.to_thread(file_md5, source.file) != found.checksum:
            return False
        if self._progress is not None:
            self._progress(source.size)
        return True


def upload_sources(
    source: str | PathLike[str] | BinaryIO | Sequence[UploadFile], to: str, follow_links: bool, report: Report
) -> Sequence[UploadFile]:
    if isinstance(source, Sequence) and not isinstance(source, str):
        return source
    return found_files(source, to, None, follow_links, report)


def objects_table(objects: Sequence[ObjectInfo]) -> Table:
    """Returns the table in the form of `Ref.list_table`."""
    import pyarrow as pa

    columns = {
        "path": pa.array([each.path for each in objects], pa.string()),
        "size": pa.array([each.size for each in objects], pa.int64()),
        "mtime": pa.array([microseconds(each.mtime) for each in objects], pa.int64()),
        "checksum": pa.array([each.checksum for each in objects], pa.string()),
        "etag": pa.array([each.etag for each in objects], pa.string()),
        "content_type": pa.array([each.content_type for each in objects], pa.string()),
    }
    return pa.table(columns)
