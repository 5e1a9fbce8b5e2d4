"""The part of a plan and a sweep that an engine does: the work that grows with the files of a repository.

The embedded engine is in `embedded.py`; the one on Spark is `jobs/collection`. Both compare, explain and write by the
functions of `marks.py`, `reasons.py` and this module, and hold no list of files."""

from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from lochan.failpoints import fp
from lochan.formats import plan_list
from lochan.formats.plan_list import PLAN_SCHEMA, ListPart, PlanHead, encode_part
from lochan.store.bulk_delete import BATCH, delete_all
from lochan.store.checked_reads import get_decoded
from lochan.store.protocol import Store
from lochan.versioning.collection.listing import ListingSpan, list_files
from lochan.versioning.collection.marks import CollectionLook, LiveMarks
from lochan.versioning.collection.progress import SILENT, StageProgress
from lochan.versioning.collection.reasons import (
    TOTALS_SCHEMA,
    Evidence,
    added_totals,
    explain_reasons,
    totals_of,
)

PART_ROWS = 200_000
LISTED = "lists files"  # a stage
DELETED = "deletes files"
_DELETED_ROWS = 20 * BATCH  # rows of a part that are deleted between two failpoints


class CollectedFiles(NamedTuple):
    """Counts of the files that were found in a repository, and the place of their list."""

    files: int = 0  # the number of all files
    bytes: int = 0
    totals: pa.Table = TOTALS_SCHEMA.empty_table()  # totals of the dead files
    parts: tuple[ListPart, ...] = ()

    def __add__(self, other: "CollectedFiles") -> "CollectedFiles":  # type: ignore[override]
        return CollectedFiles(
            self.files + other.files,
            self.bytes + other.bytes,
            added_totals((self.totals, other.totals)),
            self.parts + other.parts,
        )

    @property
    def dead_files(self) -> int:
        return pc.sum(self.totals["files"]).as_py() or 0

    @property
    def dead_bytes(self) -> int:
        return pc.sum(self.totals["bytes"]).as_py() or 0


class SweptFiles(NamedTuple):
    files: int = 0
    bytes: int = 0


class CollectionEngine(Protocol):
    @property
    def name(self) -> str: ...

    async def collect(self, look: CollectionLook, *, write: bool) -> CollectedFiles:
        """Lists the dead files, as parts on the store if `write`. Raises Corrupt or Gone if something that is alive
        cannot be read."""

    async def still_named(self, look: CollectionLook, parts: tuple[ListPart, ...]) -> int:
        """Returns how many of the listed files the state names. It reads every part, and raises Corrupt or NotFound for
        one that is damaged or missing."""

    async def delete(self, repository: str, parts: tuple[ListPart, ...]) -> SweptFiles:
        """Deletes the listed files that still exist. After an error it must be repeated; repeating it is harmless."""


# --- what both engines do for a span of paths, or a part -------------------------------------------------------------
async def collect_span(
    store: Store,
    look: CollectionLook,
    marks: LiveMarks,
    evidence: Evidence,
    span: ListingSpan,
    *,
    write: bool,
    progress: StageProgress = SILENT,
) -> CollectedFiles:
    """Lists the span, and compares it with the marks of its files."""
    files = size = 0
    totals = TOTALS_SCHEMA.empty_table()
    writer = PartWriter(store, look.repository, look.marked)
    async for table in list_files(store, look.repository, span):
        files += len(table)
        progress.tell(LISTED, files, files + 1)  # the total is not known
        size += pc.sum(table["size"]).as_py() or 0
        dead = explain_reasons(marks.dead(look.candidates(table)), evidence)
        if len(dead):
            totals = added_totals([totals, totals_of(dead)])
        if write:
            await writer.add(dead)
    progress.tell(LISTED, files, files)
    return CollectedFiles(files, size, totals, await writer.finish())


class PartWriter:
    """Writes parts of a list. A part that is written twice, by a task that runs twice, has the same name."""

    def __init__(self, store: Store, repository: str, marked: int, rows_max: int | None = None) -> None:
        self._store = store
        self._repository = repository
        self._marked = marked
        self._rows_max = rows_max or PART_ROWS
        self._tables: list[pa.Table] = []
        self._rows = 0
        self._parts: list[ListPart] = []

    async def add(self, dead: pa.Table) -> None:
        """Adds dead files. REQUIRES: their paths follow those added before."""
        if len(dead):
            self._tables.append(dead)
            self._rows += len(dead)
        while self._rows >= self._rows_max:
            await self._put(self._rows_max)

    async def finish(self) -> tuple[ListPart, ...]:
        if self._rows:
            await self._put(self._rows)
        return tuple(self._parts)

    async def _put(self, rows: int) -> None:
        table = pa.concat_tables(self._tables)
        part, data = encode_part(self._marked, table.slice(0, rows))
        await self._store.put(f"{self._repository}/{part.file}", data)
        fp("plan.part")
        self._parts.append(part)
        rest = table.slice(rows)
        self._tables, self._rows = [rest], len(rest)


async def read_part(store: Store, repository: str, part: ListPart) -> pa.Table:
    """Returns the files of a part, as a table of LIST_SCHEMA. Raises Corrupt or NotFound."""
    return await get_decoded(store, f"{repository}/{part.file}", lambda data: plan_list.decode_part(part, data))


async def read_head(store: Store, repository: str, file: str) -> PlanHead:
    """Returns the head of a list. Raises Corrupt, FutureFormat or NotFound."""
    return await get_decoded(store, f"{repository}/{file}", lambda data: plan_list.decode_head(file, data))


async def delete_part(store: Store, repository: str, part: ListPart, after: str) -> SweptFiles:
    """Deletes the files of a part. `after` is the last path of the part before. It first lists which of them still
    exist, so that an interrupted sweep continues where it ended, and counts only what it deletes itself."""
    listed = (await read_part(store, repository, part))["path"].combine_chunks()
    there = list_files(store, repository, ListingSpan(after, part.last))
    found = [table.filter(pc.is_in(table["path"], value_set=listed)) async for table in there]
    left = pa.concat_tables([PLAN_SCHEMA.empty_table(), *found])
    for start in range(0, len(left), _DELETED_ROWS):
        some = left.slice(start, _DELETED_ROWS)
        await delete_all(store, [f"{repository}/{path}" for path in some["path"].to_pylist()])
        fp("sweep.batch")
    return SweptFiles(len(left), pc.sum(left["size"]).as_py() or 0)
