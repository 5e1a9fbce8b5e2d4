"""What executors do: read splits and cut their rows by key, then make objects of the rows of one part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyarrow as pa

from lochan.engines.duckdb.load.load import LoaderOptions
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.read_input import take_chunk
from lochan.engines.duckdb.session import DuckSession
from lochan.jobs.load.file_splits import FileSplit, rows_of
from lochan.jobs.load.files import PositionedFaults, SurveyedFile
from lochan.jobs.load.key_ranges import KeyRanges
from lochan.jobs.load.shuffle import Received, sent, sent_faults
from lochan.jobs.messages import TaskMessage, reports_errors
from lochan.jobs.pool_writer import spark_folder, write
from lochan.jobs.target import PoolTarget
from lochan.pools.json_row import Faults


@dataclass(frozen=True, slots=True)
class LoadWork:
    """The same for all tasks of a load. May be pickled."""

    files: tuple[SurveyedFile, ...]
    splits: tuple[FileSplit, ...]
    target: PoolTarget
    how: LoaderOptions
    bounds: tuple[bytes, ...] = ()  # between the parts of the key

    def faults(self) -> PositionedFaults:
        return PositionedFaults(self.how.on_error, files=[seen.file for seen in self.files])


def cut(work: LoadWork, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Of splits by their numbers: all rows, for the parts that they lie in."""
    target = work.target
    with reports_errors(), DuckSession(target.limits, temp=target.temp or spark_folder(), ordered=False) as session:
        room, keyed = _Room(session, work.faults()), KeyRanges(session, target.settings)
        for split in _splits(work, numbers):
            for chunk in rows_of(room, work.files[split.file], split, work.how):
                yield from sent(chunk, keyed.parts(chunk, work.bounds))
        yield from sent_faults(room.faults)


def load_part(work: LoadWork, records: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
    """Of the rows that `cut` sent here: objects on the store."""
    each = iter(records)
    first = next(each, None)
    if first is None:
        return
    received = Received(chain([first], each))

    def fill(loader: Loader) -> None:
        for chunk in received.chunks():
            take_chunk(loader, chunk)

    yield from write(work.target, fill, faults=work.faults())
    yield from received.faults


def load_splits(work: LoadWork, numbers: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
    """Where all rows are one part: no task needs to send them to another."""

    def fill(loader: Loader) -> None:
        for split in _splits(work, numbers):
            for chunk in rows_of(loader, work.files[split.file], split, work.how):
                take_chunk(loader, chunk)

    return write(work.target, fill, faults=work.faults())


def _splits(work: LoadWork, numbers: Iterable[pa.RecordBatch]) -> Iterator[FileSplit]:
    for batch in numbers:
        yield from (work.splits[number] for number in batch.column(0).to_pylist())


@dataclass(slots=True)
class _Room:
    session: DuckSession
    faults: Faults

    @property
    def folder(self) -> Path:
        return Path(self.session.folder)
