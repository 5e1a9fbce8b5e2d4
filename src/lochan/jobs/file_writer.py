"""Rows as Parquet files of a repository: what an executor does with a task's rows, where no pool sorts them."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from lochan.clock import Clock, SystemClock
from lochan.engines.spark.executors import open_on_executor, spark_folder
from lochan.errors import Invalid, Refused
from lochan.ids import Ids
from lochan.jobs.entry_runs import spilling
from lochan.jobs.messages import PutCounter, TaskMessage, reports_errors
from lochan.pools.commit_objects import CONTENT_TYPE
from lochan.store.open import StoreLocation
from lochan.store.protocol import Store
from lochan.versioning.bodies.write import Bodies
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL

FILE_BYTES = 128 << 20
_ROW_GROUP_ROWS = 122_880
_ONE_BLOCK = 1 << 62  # so that whoever reads Parquet reads the file where it lies


@dataclass(frozen=True, slots=True)
class FilesTarget:
    """May be pickled."""

    place: StoreLocation
    repository_id: str
    mint: int  # folded before any task wrote a byte (G1)
    prefix: str  # of the files' paths
    file_bytes: int = FILE_BYTES  # about, of one file

    verb: ClassVar[str] = "ingest"  # in the journal, and in a commit that has no message

    @property
    def suffix(self) -> str:
        """Behind the name of the branch."""
        return f"/{self.prefix}"

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
        """What a task does with its rows."""
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


async def files_target(repository: OpenRepository, place: StoreLocation, prefix: str) -> FilesTarget:
    """To be made before the first task starts. Raises Refused, Invalid."""
    about = repository.repository
    if about.kind == POOL:
        raise Refused(f"{about.name!r} is a pool: it holds rows, not files", hint=f"write to {about.name} itself")
    if prefix and not prefix.endswith("/"):
        raise Invalid(f"{prefix!r}: a table is a folder of files", hint=f"write it as {prefix}/")
    refs, mint = await repository.refs()
    refs.guard.check_writable()
    return FilesTarget(place.for_others(), about.id, mint, prefix)


@spilling
def write_files(target: FilesTarget, part: int, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
    """`part` is the task's number. Raises TaskFailed."""
    from lochan.jobs.pool_writer import file_pieces  # with an engine behind it, which only tasks need

    with (
        reports_errors(),
        tempfile.TemporaryDirectory(prefix="lochan-", dir=spark_folder()) as folder,
        asyncio.Runner() as runner,
    ):
        clock, ids = SystemClock(), Ids()
        putting = PutCounter(open_on_executor(target.place, clock, ids))
        bodies = target.bodies(putting.store, clock, ids)
        for file, rows in _files(Path(folder), batches, target.file_bytes):
            path = f"{target.prefix}part-{part:05d}-{ids.ksuid(clock.wall())}.parquet"
            entry = runner.run(
                bodies.write(path, file_pieces(file), mint=target.mint, content_type=CONTENT_TYPE),
            )
            file.unlink()
            yield putting.message(entry, rows)


def _files(folder: Path, batches: Iterable[pa.RecordBatch], size_bytes: int) -> Iterator[tuple[Path, int]]:
    """One at a time, each with its rows; it is the caller's, who may delete it."""
    from lochan.jobs.pool_writer import joined

    file, rows = folder / "rows.parquet", 0
    writer: pq.ParquetWriter | None = None
    for batch in joined(batches, _ROW_GROUP_ROWS):
        if writer is not None and (batch.schema != writer.schema or file.stat().st_size >= size_bytes):
            writer.close()
            yield file, rows
            writer, rows = None, 0
        if writer is None:
            writer = pq.ParquetWriter(file, batch.schema, compression="zstd")
        writer.write_batch(batch, row_group_size=_ROW_GROUP_ROWS)
        rows += batch.num_rows
    if writer is not None:
        writer.close()
        yield file, rows
