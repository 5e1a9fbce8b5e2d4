"""Garbage collection in this process, for repositories that one machine reads in reasonable time.

It keeps eight bytes for each file that is alive, and a piece of the listing."""

from contextlib import aclosing

import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.plan_list import PLAN_SCHEMA, ListPart
from lochan.versioning.collection.engine import (
    DELETED,
    CollectedFiles,
    SweptFiles,
    collect_span,
    delete_part,
    read_part,
)
from lochan.versioning.collection.listing import EVERYTHING, list_files
from lochan.versioning.collection.marks import (
    CollectionLook,
    expired_names,
    held_open,
    live_marks,
    live_paths,
    moved_files,
)
from lochan.versioning.collection.progress import Listener, StageProgress
from lochan.versioning.collection.reasons import Evidence
from lochan.versioning.open_repository import OpenRepository


class EmbeddedCollection:
    name = "duckdb"  # the name of the embedded engine everywhere

    def __init__(self, repository: OpenRepository, listener: Listener | None = None) -> None:
        self._repository = repository
        self._progress = StageProgress(listener)

    async def collect(self, look: CollectionLook, *, write: bool) -> CollectedFiles:
        marks = await live_marks(self._repository, look, self._progress)
        aliases = (await self._repository.places.load(look.aliases)).table
        expired = await expired_names(self._repository, look)
        evidence = Evidence(expired, moved_files(aliases, look.repository), look.journal)
        store, progress = self._repository.store, self._progress
        return await collect_span(store, look, marks, evidence, EVERYTHING, write=write, progress=progress)

    async def still_named(self, look: CollectionLook, parts: tuple[ListPart, ...]) -> int:
        if not parts:
            return 0
        marks, hits = await live_marks(self._repository, look, self._progress), []
        for part in parts:
            listed = await read_part(self._repository.store, look.repository, part)
            hits.append(listed["path"].filter(pa.array(marks.named(listed))))
        found = pa.chunked_array([chunk for each in hits for chunk in each.chunks], pa.string())
        return await self._exactly(look, found) if len(found) else 0

    async def _exactly(self, look: CollectionLook, paths: pa.ChunkedArray) -> int:
        """Returns how many of these paths are really named, rather than having the same hash as a named path."""
        named = pa.array(held_open(paths, look.folders))
        async with aclosing(live_paths(self._repository, look)) as found:
            async for alive in found:
                named = pc.or_(named, pc.is_in(paths, value_set=alive).combine_chunks())
        return pc.sum(named).as_py() or 0

    async def delete(self, repository: str, parts: tuple[ListPart, ...]) -> SweptFiles:
        done, after = SweptFiles(), ""
        total = sum(part.files for part in parts)
        for part in parts:
            self._progress.tell(DELETED, done.files, max(total, done.files))
            some = await delete_part(self._repository.store, repository, part, after)
            done, after = SweptFiles(done.files + some.files, done.bytes + some.bytes), part.last
        self._progress.tell(DELETED, total, total)
        return done


async def dead_table(repository: OpenRepository, look: CollectionLook) -> pa.Table:
    """Returns the dead files themselves, as a table of PLAN_SCHEMA in memory, for callers that show them."""
    marks = await live_marks(repository, look)
    files = list_files(repository.store, look.repository)
    dead = [marks.dead(look.candidates(table)) async for table in files]
    return pa.concat_tables([PLAN_SCHEMA.empty_table(), *dead])
