"""Writes a task's rows as Parquet files of a repository: an executor does this where no pool sorts them."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from lochan.clock import Clock, SystemClock
from lochan.engines.spark.executors import open_on_executor, spark_folder
from lochan.errors import Invalid, Refused
from lochan.ids import Ids
from lochan.jobs.entry_runs import spilling
from lochan.jobs.messages import PutCounter, TaskMessage, reports_errors
from lochan.jobs.partitions import by_partition
from lochan.pools.commit_objects import CONTENT_TYPE
from lochan.store.open import StoreLocation
from lochan.store.protocol import Store
from lochan.versioning.bodies.write import Bodies
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL

FILE_BYTES = 128 << 20
_ROW_GROUP_ROWS = 122_880
_HELD_BYTES_MAX = 128 << 20  # bytes of rows that are in no row group yet
_OPEN_MAX = 64  # files that one task has open; with more, one is closed before it is full
_ONE_BLOCK = 1 << 62  # so that Parquet readers can read the file directly


@dataclass(frozen=True, slots=True)
class FilesTarget:
    """The place where tasks write files. It can be pickled."""

    place: StoreLocation
    repository_id: str
    mint: int  # the number that was folded before any task wrote a byte (G1)
    prefix: str  # the prefix of the files' paths
    file_bytes: int = FILE_BYTES  # the approximate size of one file
    partition_by: tuple[str, ...] = ()  # the columns that are in the files' paths

    verb: ClassVar[str] = "ingest"  # the verb in the journal, and in a commit that has no message

    @property
    def suffix(self) -> str:
        """The text after the name of the branch."""
        return f"/{self.prefix}"

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
        """Writes the rows of a task."""
        from pyspark import TaskContext

        context = TaskContext.get()
        return write_files(self, context.partitionId() if context else 0, batches)

    def bodies(self, store: Store, clock: Clock, ids: Ids) -> Bodies:
        return Bodies(
            store,
            prefix=self.repository_id,
            clock=clock,
            ids=ids,
            writer=ids.ksuid(clock.wall()),
            block_bytes=_ONE_BLOCK,
        )


async def files_target(
    repository: OpenRepository, place: StoreLocation, prefix: str, partition_by: tuple[str, ...] = ()
) -> FilesTarget:
    """Returns the target. Call it before the first task starts. Raises Refused or Invalid."""
    about = repository.repository
    if about.kind == POOL:
        raise Refused(f"{about.name!r} is a pool: it holds rows, not files", hint=f"write to {about.name} itself")
    if prefix and not prefix.endswith("/"):
        raise Invalid(f"{prefix!r}: a table is a folder of files", hint=f"write it as {prefix}/")
    refs, mint = await repository.refs()
    refs.guard.check_writable()
    return FilesTarget(place.for_others(), about.id, mint, prefix, partition_by=partition_by)


@spilling
def write_files(target: FilesTarget, part: int, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
    """Writes the rows of a task. `part` is the task's number. Raises TaskFailed."""
    from lochan.jobs.pool_writer import file_pieces  # it imports an engine, which only tasks need

    with (
        reports_errors(),
        tempfile.TemporaryDirectory(prefix="lochan-", dir=spark_folder()) as folder,
        asyncio.Runner() as runner,
    ):
        clock, ids = SystemClock(), Ids()
        putting = PutCounter(open_on_executor(target.place, clock, ids))
        bodies = target.bodies(putting.store, clock, ids)
        for file, rows, at in _files(Path(folder), batches, target):
            path = f"{target.prefix}{at}part-{part:05d}-{ids.ksuid(clock.wall())}.parquet"
            entry = runner.run(
                bodies.write(path, file_pieces(file), mint=target.mint, content_type=CONTENT_TYPE),
            )
            file.unlink()
            yield putting.message(entry, rows, (f"{target.prefix}{at}",) if at else ())


class WrittenFile(NamedTuple):
    file: Path  # the file belongs to the caller, who may delete it
    rows: int
    folder: str  # the folder of its partition


class _OpenFile:
    """A file that is being written. Rows are held until they make a row group, because those of many partitions come in
    small pieces."""

    def __init__(self, file: Path, folder: str, schema: pa.Schema) -> None:
        self.schema = schema
        self._file, self._folder = file, folder
        self._writer = pq.ParquetWriter(file, schema, compression="zstd")
        self._held: list[pa.RecordBatch] = []
        self._held_rows = self._rows = self.held_bytes = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self._held.append(batch)
        self._held_rows += batch.num_rows
        self.held_bytes += batch.nbytes
        if self._held_rows >= _ROW_GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held), row_group_size=_ROW_GROUP_ROWS)
            self._rows += self._held_rows
        self._held, self._held_rows, self.held_bytes = [], 0, 0

    def is_full(self, size_bytes: int) -> bool:
        return self._file.stat().st_size >= size_bytes

    def closed(self) -> WrittenFile:
        self.flush()
        self._writer.close()
        return WrittenFile(self._file, self._rows, self._folder)


def _files(folder: Path, batches: Iterable[pa.RecordBatch], target: FilesTarget) -> Iterator[WrittenFile]:
    """Yields each file as soon as it is full, or too many are open."""
    opened: dict[str, _OpenFile] = {}  # by the folder of the partition; the last one that was written to is at the end
    numbers = count()
    for batch in batches:
        for at, rows in by_partition(batch, target.partition_by) if batch.num_rows else ():
            file = opened.pop(at, None)
            if file is not None and (file.schema != rows.schema or file.is_full(target.file_bytes)):
                yield file.closed()
                file = None
            if file is None:
                file = _OpenFile(folder / f"{next(numbers)}.parquet", at, rows.schema)
            file.add(rows)
            opened[at] = file
            if len(opened) > _OPEN_MAX:
                yield opened.pop(next(iter(opened))).closed()
        if sum(each.held_bytes for each in opened.values()) > _HELD_BYTES_MAX:
            max(opened.values(), key=lambda each: each.held_bytes).flush()
    while opened:
        yield opened.pop(next(iter(opened))).closed()
