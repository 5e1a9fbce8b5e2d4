"""Reads the objects of a commit for a checkout, and their bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from lochan.checkout.plan import RemoteFile
from lochan.formats.usage import READ_FOLDER

if TYPE_CHECKING:
    from lochan.api.ref import Ref
    from lochan.checkout.transfer import FileSource
    from lochan.formats.entry import Entry
    from lochan.versioning.bodies.read import BodyReader

_PAGE = 1_000


class _CommitRef(Protocol):
    def stream(self, path: str, start: int = 0, stop: int | None = None) -> AsyncIterator[bytes]: ...


class RefFiles:
    """Reads the files through the verbs of any ref that names one commit."""

    def __init__(self, ref: _CommitRef, prefix: str) -> None:
        self._ref = ref
        self._prefix = prefix

    def read_now(self, file: RemoteFile) -> bytes | None:
        return b"" if file.size == 0 else None

    def stream(self, file: RemoteFile) -> AsyncIterator[bytes]:
        return self._ref.stream(self._prefix + file.path)


class RepositoryFiles:
    """Reads the files of a lake that this process has open."""

    def __init__(self, reader: BodyReader) -> None:
        self._reader = reader

    def read_now(self, file: RemoteFile) -> bytes | None:
        entry: Entry = file.handle  # type: ignore[assignment]
        return self._reader.read_now(entry) if entry.size else b""

    def stream(self, file: RemoteFile) -> AsyncIterator[bytes]:
        entry: Entry = file.handle  # type: ignore[assignment]
        return self._reader.read(entry)


@asynccontextmanager
async def files_of(ref: Ref, prefix: str) -> AsyncIterator[tuple[FileSource, dict[str, RemoteFile]]]:
    """Yields the objects of a commit under a prefix, and the source of their bytes. The ref names the commit by its
    id."""
    opened = getattr(ref, "_opened", None)
    if opened is None:
        found = {}
        async with aclosing(ref.list_pages(prefix)) as pages:  # type: ignore[type-var]
            async for page in pages:
                for each in page.objects:
                    path = each.path[len(prefix) :]
                    key = f"{each.checksum} {each.etag} {each.size}" if each.checksum else ""
                    found[path] = RemoteFile(path, each.size, each.checksum, key)
        yield RefFiles(ref, prefix), found
        return
    async with ref._opened() as (repository, name):
        view = await ref._view(repository, name)
        await ref._session.note_read(READ_FOLDER, ref.repository_name, name, prefix)
        found = {}
        after: str | None = ""
        while after is not None:
            listed = await view.list(prefix, after, "", _PAGE)
            for entry in listed.entries:
                path = entry.path[len(prefix) :]
                found[path] = RemoteFile(path, entry.size, entry.checksum, _content_key(entry), entry)
            after = listed.next
        yield RepositoryFiles(repository.reader), found


def _content_key(entry: Entry) -> str:
    """Returns a key of the content, from the SHA-256 of all blocks, because MD5 can be forged. It is empty if the
    content of some block is unknown."""
    digests = [each.sha256.hex() for each in entry.blocks]
    return f"{entry.size} {' '.join(digests)}" if all(digests) else ""
