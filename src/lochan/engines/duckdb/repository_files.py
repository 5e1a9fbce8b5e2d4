"""Files of a repository as rows: parquet, csv, tsv, json, ndjson, arrow and lines of text, by content and name.

They are read as a load reads them, into data objects that only this query knows: so a row has the shape that it would
have in a pool, and one kind of source serves both.
"""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from lochan.engines.duckdb.limits import Limits
from lochan.engines.duckdb.load.load import How
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.reading import read_input
from lochan.engines.duckdb.load.streams import Input
from lochan.engines.duckdb.session import Session
from lochan.errors import NotFound
from lochan.formats.entry import Block, Entry
from lochan.formats.entry_table import table_of
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.pools.facts import to_metadata
from lochan.pools.faults import FAIL, Faults
from lochan.query.sources.opening import CheckPaths
from lochan.query.sources.snapshot import Owner, Snapshot
from lochan.store.threads import Threads
from lochan.versioning.bodies.read import BodyReader
from lochan.versioning.globs import regex
from lochan.versioning.open_repository import OpenRepository

_PAGE = 10_000
# A key that no row has: rows stay in the order in which they come.
AS_THEY_COME = PoolSettings((PoolKey(("\0",)),))
_threads = Threads(4)


async def read_files(
    repository: OpenRepository, ref: str, glob: str, work: str, limits: Limits, check: CheckPaths
) -> Snapshot:
    """The files lie in the folder `work` from then on. Raises what `check` has against their paths, NotFound where
    there is none, Invalid for what is no rows."""
    resolved = await repository.resolve(ref)
    found = [entry async for entry in _matching(repository, ref, glob)]
    if not found:
        name = repository.repository.name
        raise NotFound(
            f"no file of {name}@{ref} is called like {glob}", hint=f"`lochan fs ls {name}@{ref}/` lists them"
        )
    await check([entry.path for entry in found])
    with Session(limits) as session:
        loader = Loader(session, AS_THEY_COME, Faults(FAIL))
        for entry in found:
            file = await copied(repository.reader, entry, Path(work) / "body")
            taken = Input(entry.path, partial(io.FileIO, str(file)), entry.size)
            await _threads.run(read_input, loader, taken, How(limits=limits))
            file.unlink()
        objects = await _threads.run(_objects, loader, Path(work))
    owner = Owner(repository.repository.name, resolved.commit_id)
    return Snapshot([owner], PoolSettings(), [table_of(objects)], in_order=False)


async def _matching(repository: OpenRepository, ref: str, glob: str) -> AsyncIterator[Entry]:
    """In the order of their paths, also those that are staged."""
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


async def copied(reader: BodyReader, entry: Entry, file: Path) -> Path:
    """Raises Gone, Corrupt, and what else reading a body raises."""
    with file.open("wb") as sink:
        async with aclosing(reader.read(entry)) as pieces:
            async for piece in pieces:
                await _threads.run(sink.write, piece)
    return file


def _objects(loader: Loader, folder: Path) -> list[Entry]:
    made = []
    for number, written in enumerate(loader.objects()):
        file = folder / f"rows{number}.parquet"
        written.file.rename(file)
        size = file.stat().st_size
        block = Block(str(file), 0, size, b"")
        made.append(Entry(f"{number}.parquet", (block,), size, "", "", 0, metadata=to_metadata(written.facts)))
    return made
