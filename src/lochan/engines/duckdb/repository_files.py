"""Files of a repository as rows, in any format that a load reads.

They are read as by a load, into data objects for this query alone, so that one kind of source serves pools and files. A
decoder reads them (`ingest`), because any user may have put them there. Columns in their paths (`year=2026/`) are
fields of their rows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from shlex import quote

import pyarrow as pa
import pyarrow.compute as pc

from lochan.engines.duckdb.limits import Limits
from lochan.engines.duckdb.load.decode import DecodedFiles
from lochan.engines.duckdb.session import run_on_thread
from lochan.errors import NotFound
from lochan.formats.entry import Block, Entry
from lochan.formats.entry_table import table_of
from lochan.formats.pool_settings import PoolSettings
from lochan.ingest.hive_path import PathColumns, path_columns, path_values
from lochan.pools.facts import to_metadata
from lochan.pools.snapshot import Owner, Snapshot
from lochan.query.sources.resolve import CheckPaths
from lochan.store.threads import Threads
from lochan.versioning.bodies.read import BodyReader
from lochan.versioning.names import regex
from lochan.versioning.open_repository import OpenRepository

_PAGE = 10_000
_threads = Threads(4)


async def read_files(
    repository: OpenRepository, ref: str, glob: str, work: str, limits: Limits, check: CheckPaths
) -> Snapshot:
    """Reads files into data objects in the folder `work`. Raises NotFound if no path matches, Invalid if a file does
    not contain rows, and the errors of `check` for the paths."""
    resolved = await repository.resolve(ref)
    found = [entry async for entry in _find_matching(repository, ref, glob)]
    if not found:
        name = repository.repository.name
        raise NotFound(
            f"no file of {name}@{ref} matches {glob}", hint=f"`lochan fs ls {quote(f'{name}@{ref}/')}` lists them"
        )
    await check([entry.path for entry in found])
    objects = await _objects(repository.reader, found, Path(work), limits)
    owner = Owner(repository.repository.name, resolved.commit_id)
    return Snapshot([owner], PoolSettings(), [table_of(objects)], in_order=False)


async def _find_matching(repository: OpenRepository, ref: str, glob: str) -> AsyncIterator[Entry]:
    """Yields the matching files in the order of their paths, including staged files."""
    view = await repository.view(await repository.resolve(ref))
    prefix = glob[: next((at for at, letter in enumerate(glob) if letter in "*?["), len(glob))]
    pattern = regex([glob])
    after: str | None = ""
    while after is not None:
        page = await view.list(prefix, after, limit=_PAGE)
        paths = pa.array([entry.path for entry in page.entries], pa.string())
        for entry, matches in zip(page.entries, pc.match_substring_regex(paths, pattern).to_pylist(), strict=True):
            if matches:
                yield entry
        after = page.next


async def copy_body(reader: BodyReader, entry: Entry, file: Path) -> Path:
    """Copies the body of an entry. Raises Gone, Corrupt, and other errors of reading a body."""
    with file.open("wb") as sink:
        async with aclosing(reader.read(entry)) as pieces:
            async for piece in pieces:
                await _threads.run(sink.write, piece)
    return file


async def _objects(reader: BodyReader, entries: Sequence[Entry], folder: Path, limits: Limits) -> list[Entry]:
    """Returns data objects of all rows of these files. The decoder is dead when this returns."""
    made: list[Entry] = []
    columns = path_columns(entry.path for entry in entries)
    with DecodedFiles(folder, limits, sum(entry.size for entry in entries)) as decoded:
        for entry in entries:
            file = await copy_body(reader, entry, folder / "body")
            await run_on_thread(partial(decoded.take, entry.path, file, _path_columns(columns, entry.path)), decoded)
            file.unlink()
        objects = decoded.objects()
        while (written := await run_on_thread(partial(next, objects, None), decoded)) is not None:
            file, size = written.file, written.file.stat().st_size
            block = Block(str(file), 0, size, b"")
            metadata = to_metadata(written.facts)
            made.append(Entry(f"{len(made)}.parquet", (block,), size, "", "", 0, metadata=metadata))
    return made


def _path_columns(columns: PathColumns, path: str) -> pa.RecordBatch:
    """Returns the columns of the path, without those that it lacks: these fields are missing."""
    return columns.row(path).select([name for name in columns.schema.names if name in path_values(path)])
