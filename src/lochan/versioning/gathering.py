"""Files outside the lake gathered for one commit: listed, made into entries, and kept in path order until it lands.

A few are kept in memory, many in a file of this machine that is mapped: a listing of millions takes little room, and
need not be made again when the branch has moved meanwhile.
"""

import os
from collections.abc import AsyncIterator, Callable, Sequence
from tempfile import mkstemp
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Invalid, NotFound
from lochan.formats.entry import ENTRY_SCHEMA
from lochan.formats.run import ascends
from lochan.store.scratch import place
from lochan.versioning.bodies.outside import Outside

_IN_MEMORY_MAX = 100_000  # entries; 40 MB

Seen = Callable[[int], None]  # told how many files more were found


class Source(NamedTuple):
    url: str  # of a folder or prefix
    to: str  # what the paths begin with, in place of it


async def gather(outside: Outside, sources: Sequence[Source], seen: Seen) -> pa.Table:
    """All files of the sources as entries (ENTRY_SCHEMA), in path order. Raises NotFound for a source without any,
    Refused for files of a lake, Invalid for names that cannot be kept and for two files at one path."""
    ordered = sorted(sources, key=lambda source: source.to.encode(errors="surrogatepass"))
    with _Gathered() as gathered:
        for source in ordered:
            async for table in _files(outside, source):
                gathered.add(table)
                seen(len(table))
        return _in_order(gathered.table())


async def _files(outside: Outside, source: Source) -> AsyncIterator[pa.Table]:
    try:
        async for table in outside.files(source.url, source.to):
            yield table
    except NotFound as error:
        raise NotFound(error.message, hint="is it a folder? `lochan fs link URL REPO/PATH` links one file") from error


class _Gathered:
    def __init__(self) -> None:
        self._tables: list[pa.Table] = []
        self._count = 0
        self._path = ""
        self._writer: pa.ipc.RecordBatchFileWriter | None = None

    def __enter__(self) -> "_Gathered":
        return self

    def __exit__(self, *_: object) -> None:
        """Once it is mapped, the file needs no name."""
        if self._writer is not None:
            self._writer.close()
        if self._path:
            os.unlink(self._path)  # noqa: PTH108

    def add(self, table: pa.Table) -> None:
        if self._writer is not None:
            self._writer.write_table(table)
            return
        self._tables.append(table)
        self._count += len(table)
        if self._count > _IN_MEMORY_MAX:
            self._spill()

    def table(self) -> pa.Table:
        if self._writer is None:
            return pa.concat_tables(self._tables)
        self._writer.close()
        self._writer = None
        return pa.ipc.open_file(pa.memory_map(self._path)).read_all()

    def _spill(self) -> None:
        handle, self._path = mkstemp(prefix="lochan-import-", dir=place())
        os.close(handle)
        self._writer = pa.ipc.new_file(self._path, ENTRY_SCHEMA)
        for table in self._tables:
            self._writer.write_table(table)
        self._tables.clear()


def _in_order(entries: pa.Table) -> pa.Table:
    """Each source comes in order; only where one's paths lie among another's is there anything to do."""
    if _ascends(entries["path"]):
        return entries
    entries = entries.take(pc.sort_indices(entries["path"]))
    if not _ascends(entries["path"]):
        paths = entries["path"].combine_chunks()
        twice = paths[1:].filter(pc.equal(paths[:-1], paths[1:]))[0].as_py()
        raise Invalid(f"two files would become the object {twice!r}", hint="give the sources different prefixes")
    return entries


def _ascends(paths: pa.ChunkedArray) -> bool:
    """Chunk by chunk, and from one to the next: the whole column at once would be copied."""
    last = b""
    for chunk in paths.chunks:
        if not len(chunk):
            continue
        if chunk[0].as_py().encode() <= last or not ascends(chunk):
            return False
        last = chunk[-1].as_py().encode()
    return True
