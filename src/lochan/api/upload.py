"""Uploads files to a branch: eight at a time, and staged in batches, so that no upload is one huge event.

An upload that was interrupted can be resumed: files that are staged by then are not sent again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import file_digest, md5
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from msgspec.structs import replace

from lochan.api.local_files import Report, files_in, ignore_report, no_file
from lochan.api.object_results import UploadResult
from lochan.errors import Invalid, NotFound
from lochan.runtime import read_piece

if TYPE_CHECKING:
    from lochan.formats.entry import Entry
    from lochan.formats.record import Actor
    from lochan.staging.view import View
    from lochan.versioning.open_repository import OpenRepository

_WIDTH = 8  # files at a time
_BATCH = 500  # files that are staged together; even with paths of 1 KiB far from the 4 MiB of a journal's entry
_BATCH_BYTES = 1 << 30  # the most that an interrupted upload sends again, unless a file is larger
_PIECE_BYTES = 2 << 20

Progress = Callable[[int], None]  # called with the number of further bytes


class UploadFile(NamedTuple):
    file: Path | BinaryIO
    path: str  # the path in the repository
    size: int  # 0 for an open file, because it is unknown


def upload_files(
    source: Path | BinaryIO,
    path: str,
    *,
    recursive: bool,
    lake: Path | None = None,
    follow_links: bool = False,
    report: Report = ignore_report,
) -> list[UploadFile]:
    """Returns the files to upload, checked before the first byte is sent. The folder of the lake itself is left out,
    because it would grow while it is read; `report` is called for that, and for links. Raises NotFound, Invalid."""
    from lochan.versioning.names import check_key

    found = list(_find_files(source, path, recursive, lake, follow_links, report))
    if not found:
        raise NotFound(f"no files in {source}", hint="nothing was uploaded")
    for each in found:
        check_key(each.path)
    return found


def _find_files(
    source: Path | BinaryIO, path: str, recursive: bool, lake: Path | None, follow_links: bool, report: Report
) -> Iterator[UploadFile]:
    if not isinstance(source, Path):
        if recursive or not path or path.endswith("/"):
            raise Invalid("standard input becomes one object, which needs a path", hint="such as demo@main/a.csv")
        yield UploadFile(source, path, 0)
        return
    file = source
    if not file.exists():
        raise no_file(file)
    if file.is_dir() != recursive:
        raise Invalid(
            f"{source} is {'a folder' if file.is_dir() else 'not a folder'}",
            hint="upload it with -r" if file.is_dir() else "upload it without -r",
        )
    if not recursive:
        named = path if path and not path.endswith("/") else path + file.name
        yield UploadFile(file, named, file.stat().st_size)
        return
    prefix = path if not path or path.endswith("/") else f"{path}/"
    top = "" if file == Path() else f"{str(file).rstrip('/')}/"
    for each in files_in(file, lake=lake, follow_links=follow_links, report=report):
        yield UploadFile(each, prefix + str(each).removeprefix(top), each.stat().st_size)


class FileUpload:
    def __init__(
        self,
        repository: OpenRepository,
        branch: str,
        actor: Actor,
        metadata: Mapping[str, str],
        content_type: str | None,
        progress: Progress | None,
    ) -> None:
        self._repository = repository
        self._branch = branch
        self._actor = actor
        self._metadata = metadata
        self._content_type = content_type
        self._progress = progress

    async def rest(self, files: Sequence[UploadFile]) -> UploadResult:
        """Uploads the files that do not exist yet. Raises Invalid for an open file, which can be read only once."""
        from lochan.concurrency import map_concurrently

        if any(not isinstance(each.file, Path) for each in files):
            raise Invalid("standard input cannot be resumed", hint="upload it again as a whole, or from a file")
        view = await self._repository.view(await self._repository.resolve(self._branch, workspaces=True))
        there = await map_concurrently(partial(self._is_there, view), files, _WIDTH)
        left = [each for each, found in zip(files, there, strict=True) if not found]
        result = await self.all(left) if left else UploadResult(objects=0, bytes=0)
        return replace(result, skipped=len(files) - len(left))

    async def _is_there(self, view: View, source: UploadFile) -> bool:
        """Returns whether uploading the file would change nothing. It is read only if an object of its size exists."""
        import asyncio

        entry = await view.get(source.path)
        if entry is None or entry.size != source.size or entry.metadata != self._metadata:
            return False
        if entry.content_type != self._type_of(source):
            return False
        assert isinstance(source.file, Path)
        if await asyncio.to_thread(file_md5, source.file) != (entry.checksum or await self._stored_md5(entry)):
            return False
        if self._progress is not None:
            self._progress(source.size)
        return True

    async def _stored_md5(self, entry: Entry) -> str:
        """Computes the MD5 of a plain file in a workspace, of which the store may have only the size."""
        digest = md5(usedforsecurity=False)
        async for piece in self._repository.reader.read(entry):
            digest.update(piece)
        return digest.hexdigest()

    def _type_of(self, source: UploadFile) -> str:
        return type_of(source.path, self._branch, self._content_type)

    async def all(self, files: Sequence[UploadFile]) -> UploadResult:
        """Uploads all files. A repeated call with the same key sends nothing if all of them were staged before."""
        from lochan.journal.keys import CarriedOut, without_key
        from lochan.versioning.idempotency import check_first
        from lochan.versioning.objects import put_many

        total = 0
        try:
            await check_first(self._repository, self._actor)
        except CarriedOut:
            return UploadResult(objects=len(files), bytes=sum(file.size for file in files))
        if "+" in self._branch:
            return UploadResult(objects=len(files), bytes=await self._to_workspace(files))
        left = len(files)
        for batch in _batches(files):
            refs, mint = await self._repository.refs()
            refs.branch(self._branch)  # raises NotFound before the bytes are sent
            entries = await self._write(batch, mint)
            left -= len(batch)
            by = without_key(self._actor) if left else self._actor  # the last append decides
            await put_many(self._repository, self._branch, entries, actor=by)
            total += sum(entry.size for entry in entries)
        return UploadResult(objects=len(files), bytes=total)

    async def _to_workspace(self, files: Sequence[UploadFile]) -> int:
        """Uploads files to a workspace, as plain files, without staging, unless they have more attributes."""
        from lochan.concurrency import map_concurrently
        from lochan.journal.keys import without_key
        from lochan.versioning.objects import put

        async def one(source: UploadFile) -> int:
            return await each(source, without_key(self._actor))

        async def each(source: UploadFile, by: Actor) -> int:
            entry = await put(
                self._repository,
                self._branch,
                source.path,
                self._pieces(source.file),
                actor=by,
                content_type=self._content_type or "",
                metadata=self._metadata,
            )
            return entry.size

        first = sum(await map_concurrently(one, files[:-1], _WIDTH))
        return first + sum([await each(last, self._actor) for last in files[-1:]])  # the last append decides

    async def _write(self, sources: Sequence[UploadFile], mint: int) -> list[Entry]:
        import asyncio

        from lochan.versioning.bodies.write import Batch

        batch = Batch(self._repository.bodies, mint)
        waiting = iter(sources)

        async def worker() -> None:
            for source in waiting:  # shared, so that each worker takes the next file
                pieces, content_type = self._pieces(source.file), self._type_of(source)
                await batch.write(source.path, pieces, content_type=content_type, metadata=self._metadata)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(_WIDTH, len(sources))):
                group.create_task(worker())
        return await batch.finish()

    def _pieces(self, file: Path | BinaryIO) -> AsyncIterator[bytes]:
        return file_pieces(file, self._progress)


def type_of(path: str, ref: str, given: str | None) -> str:
    if given or "+" in ref:  # in a workspace it is a plain file, without a type
        return given or ""
    return guess_type(path)[0] or "application/octet-stream"


async def file_pieces(file: Path | BinaryIO, progress: Progress | None) -> AsyncIterator[bytes]:
    """Yields the bytes of a file. A file of one piece takes one turn of a thread; most of an upload of small files was
    such turns."""
    import asyncio

    if isinstance(file, Path):
        piece, stream = await asyncio.to_thread(_begin, file)
    else:
        piece, stream = await read_piece(file, _PIECE_BYTES), file
    try:
        while piece:
            if progress is not None:
                progress(len(piece))
            yield piece
            piece = b"" if stream is None else await read_piece(stream, _PIECE_BYTES)
    finally:
        if stream is not None and isinstance(file, Path):
            stream.close()


def _begin(file: Path) -> tuple[bytes, BinaryIO | None]:
    """Returns the first piece, and the open file if there may be more."""
    stream = file.open("rb")
    try:
        piece = stream.read(_PIECE_BYTES)
    except BaseException:
        stream.close()
        raise
    if len(piece) == _PIECE_BYTES:
        return piece, stream
    stream.close()
    return piece, None


def file_md5(file: Path) -> str:
    with file.open("rb") as stream:
        return file_digest(stream, partial(md5, usedforsecurity=False)).hexdigest()


def _batches(files: Sequence[UploadFile]) -> Iterator[Sequence[UploadFile]]:
    begin, size_bytes = 0, 0
    for at, file in enumerate(files):
        if at > begin and (at - begin == _BATCH or size_bytes + file.size > _BATCH_BYTES):
            yield files[begin:at]
            begin, size_bytes = at, 0
        size_bytes += file.size
    yield files[begin:]
