"""Files of rows that come as bytes from another machine: one file, or several in an archive, as one load.

They are on the disk before the first row is read, so that a body that breaks off half-way loads nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from lochan.api.bodies import Body, chunks_of
from lochan.errors import Invalid

if TYPE_CHECKING:
    from hashlib import _Hash

    from lochan.ingest.streams import Input

_FILES_MAX = 100_000
_PIECE_BYTES = 1 << 20


class SpooledFile(NamedTuple):
    """A file of rows on this machine's disk, as long as it is needed. It is a source of `load_files`."""

    name: str  # the name that the user has given
    path: Path
    size: int
    place: None = None  # it lies in no store

    def as_input(self) -> Input:
        from lochan.ingest.streams import file_input

        return file_input(self.path, self.name)


class SpooledFiles(NamedTuple):
    files: Sequence[SpooledFile]
    sha256: str  # the hash of the whole body, in hex; a request's idempotency key is compared by it (J8)


@asynccontextmanager
async def spool_body(body: Body, name: str, *, archive: bool) -> AsyncIterator[SpooledFiles]:
    """Yields the files of a body. Raises Invalid if it is no archive, or an archive without files."""
    import asyncio

    from lochan.store.scratch import place

    with TemporaryDirectory(prefix="lochan-body-", dir=place()) as folder:
        whole, digest = Path(folder) / "body", sha256()
        with whole.open("wb") as file:
            async for piece in chunks_of(body):
                await asyncio.to_thread(_write, file, digest, piece)
        if archive:
            files = await asyncio.to_thread(lambda: list(_unpack(whole, Path(folder))))
            if not files:
                raise Invalid("there are no files in the archive", hint="nothing was changed")
        else:
            files = [SpooledFile(name or "the body", whole, whole.stat().st_size)]
        yield SpooledFiles(files, digest.hexdigest())


def _write(file: IO[bytes], digest: _Hash, piece: bytes) -> None:
    file.write(piece)
    digest.update(piece)


def _unpack(archive: Path, folder: Path) -> Iterator[SpooledFile]:
    """Unpacks files under names of our own, because those in an archive cannot be trusted."""
    import tarfile

    try:
        with tarfile.open(archive, "r:") as found:
            for number, member in enumerate(found):
                if number == _FILES_MAX:
                    raise Invalid(f"an archive has at most {_FILES_MAX:,} files", hint="send several")
                if member.isdir():
                    continue
                stream = found.extractfile(member)
                if stream is None:
                    raise Invalid(f"{member.name!r} in the archive is no file", hint="nothing was changed")
                yield _copy_stream(stream, member.name, folder / str(number))
    except tarfile.TarError as error:
        raise Invalid(f"the body is no archive (tar): {error}", hint="nothing was changed") from None


def _copy_stream(stream: Any, name: str, to: Path) -> SpooledFile:
    with to.open("wb") as file:
        while piece := stream.read(_PIECE_BYTES):
            file.write(piece)
    return SpooledFile(name, to, to.stat().st_size)


# --- on the way out --------------------------------------------------------------------------------------------------
def archive_head(name: str, size: int) -> bytes:
    """Returns the bytes in front of a file of an archive."""
    import tarfile

    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.PAX_FORMAT)


def archive_padding(size: int) -> bytes:
    """Returns the bytes behind a file of an archive."""
    return b"\0" * (-size % 512)


ARCHIVE_END = b"\0" * 1_024
