"""Takes a sample of keys from all over the files, which shows where to cut them into parts of the same size.

Equally distant bytes of all files together are chosen, the spots. If a file can be read from any byte, some rows at
each spot are the sample. Any other file with a spot in it is read to its end, and the sample is some of its rows for
each spot, chosen at random: the first rows of a sorted file are not like the others. If a sample is bad, some task has
more to do than the others; the rows are the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from lochan.engines.duckdb.limits import Limits
from lochan.engines.duckdb.load.load import LoaderOptions
from lochan.engines.duckdb.load.read_input import Chunk
from lochan.engines.duckdb.session import DuckSession
from lochan.engines.spark.executors import spark_folder
from lochan.formats.pool_settings import PoolSettings
from lochan.ingest.input_format import CSV, PARQUET, TSV
from lochan.ingest.lines import Lines
from lochan.jobs.load.file_splits import FileSplit, TaskRoom
from lochan.jobs.load.files import Stores, SurveyedFile
from lochan.jobs.load.key_ranges import KeyRanges, size_of
from lochan.jobs.load.reservoir import Reservoir
from lochan.jobs.load.sample_rows import (
    SPOT_ROWS,
    SpotRows,
    all_rows,
    csv_forms,
    csv_names,
    is_sought,
    rows_at,
    some_of,
)
from lochan.jobs.load.shuffle import bytes_of, joined_chunk
from lochan.jobs.load.survey import FILES_FEW, TaskRunner
from lochan.jobs.messages import reports_errors
from lochan.pools.json_row import Faults

_TASK_SPOTS = 256  # spots at which one task reads
_TASK_BYTES = 256 << 20  # bytes of whole files that one task reads
_KEY_BYTES_MAX = 1_024  # bytes of a key; bytes after them are ignored here

Samples = dict[bytes, float]  # keys, and the number of bytes of rows that each represents


class SampleTask(msgspec.Struct, frozen=True, array_like=True):
    """The task of sampling one split."""

    split: FileSplit
    spots: list[int]  # bytes of its file at which rows are read
    step: float  # the approximate number of bytes of rows that each spot represents
    rows_bytes: int  # the approximate size of the rows of the split

    @property
    def cost(self) -> int:
        """The cost, as the number of spots that cost as much."""
        size = self.split.end - self.split.begin
        return len(self.spots) if is_sought(self.split) else size * _TASK_SPOTS // _TASK_BYTES + 1


def take_samples(sampler: KeySampler, splits: Sequence[FileSplit], spots: int, run: TaskRunner) -> Samples:
    """Takes the sample on the executors, unless it is a few rows of a few files. Raises Invalid or Conflict."""
    tasks = sample_tasks(splits, spots)
    if all(is_sought(task.split) for task in tasks) and len({task.split.file.name for task in tasks}) <= FILES_FEW:
        return sampler.samples(tasks)
    found = run(sampler.on_executor, [msgspec.msgpack.encode(each) for each in split_tasks(tasks)])
    return merge_samples(map(_samples.decode, found))


def sample_tasks(splits: Sequence[FileSplit], spots: int) -> list[SampleTask]:
    sizes = np.array([split.rows_bytes for split in splits], dtype=np.int64)
    ends = np.cumsum(sizes)
    total = int(ends[-1])
    at = (np.arange(spots, dtype=np.int64) * 2 + 1) * total // (2 * spots)
    which = np.searchsorted(ends, at, side="right")
    found = []
    for number in np.unique(which).tolist():
        split, size = splits[number], int(sizes[number])
        first, last = np.searchsorted(which, [number, number + 1])
        inside = (at[first:last] - (ends[number] - size)) * ((split.end - split.begin) / size)
        offsets = (inside.astype(np.int64) + split.begin).tolist()
        found.append(SampleTask(split, offsets, total / spots, size))
    return found


def split_tasks(tasks: Iterable[SampleTask]) -> list[list[SampleTask]]:
    """Returns the work of each executor."""
    found: list[list[SampleTask]] = []
    room = 0
    for task in tasks:
        if task.cost > room:
            found.append([])
            room = _TASK_SPOTS
        found[-1].append(task)
        room -= task.cost
    return found


@dataclass(frozen=True, slots=True)
class KeySampler:
    """Takes a sample, on any machine. It can be pickled."""

    stores: Stores
    settings: PoolSettings
    options: LoaderOptions
    memory_bytes: int

    def on_executor(self, tasks: Iterable[bytes]) -> Iterator[bytes]:
        with reports_errors():
            for data in tasks:
                yield msgspec.msgpack.encode(self.samples(_tasks.decode(data)))

    def samples(self, tasks: Sequence[SampleTask]) -> Samples:
        """Returns the samples of these tasks. Raises Invalid or Conflict."""
        limits = Limits(self.memory_bytes, threads=1)
        with DuckSession(limits, temp=self.options.temp or spark_folder(), ordered=False) as session:
            ranges, room = KeyRanges(session, self.settings), TaskRoom(session, Faults(self.options.on_error))
            sought = [task for task in tasks if is_sought(task.split)]
            others = [task for task in tasks if not is_sought(task.split)]
            return merge_samples(
                [self._at_spots(ranges, sought), *(self._of_split(ranges, room, task) for task in others)]
            )

    def _at_spots(self, ranges: KeyRanges, tasks: Iterable[SampleTask]) -> Samples:
        """Samples the lines of all files together, because each chunk costs the engine a statement."""
        rows: dict[type, list[SpotRows]] = defaultdict(list)
        for task in tasks:
            for found in rows_at(task.split.surveyed(self.stores), task.spots, typed=self.options.typed):
                rows[type(found.chunk)].append(found._replace(weights=found.weights * task.step))
        samples: Samples = defaultdict(float)
        for alike in rows.values():
            weights = np.concatenate([each.weights for each in alike])
            for number, key in zip(*ranges.keys(joined_chunk([each.chunk for each in alike])), strict=True):
                samples[key[:_KEY_BYTES_MAX]] += float(weights[number])
        return samples

    def _of_split(self, ranges: KeyRanges, room: TaskRoom, task: SampleTask) -> Samples:
        seen = task.split.surveyed(self.stores)
        chunks = all_rows(room, seen, task.split, self.settings, self.options)
        if seen.format in (CSV, TSV) and seen.packed:
            return self._of_csv(ranges, seen, chunks, task)
        return self._of_all(ranges, seen, chunks, task)

    def _of_all(self, ranges: KeyRanges, seen: SurveyedFile, chunks: Iterable[Chunk], task: SampleTask) -> Samples:
        sample: Reservoir[bytes] = Reservoir(SPOT_ROWS * len(task.spots), task.split.number)
        size = 0
        for chunk in chunks:
            size += bytes_of(chunk)
            numbers = sample.choose(size_of(chunk))
            if len(numbers):
                readable, keys = ranges.keys(some_of(chunk, numbers))
                sample.add(numbers[readable], keys)
        # Only the columns of the key were read from Parquet files.
        return _weigh(sample.items(), _weight(task, task.rows_bytes if seen.format == PARQUET else size))

    def _of_csv(self, ranges: KeyRanges, seen: SurveyedFile, chunks: Iterable[Chunk], task: SampleTask) -> Samples:
        sample: Reservoir[bytes] = Reservoir(SPOT_ROWS * len(task.spots), task.split.number)
        size, names = 0, None
        for chunk in chunks:
            assert isinstance(chunk, Lines)
            names = csv_names(chunk.bytes_of(0), seen.format) if names is None else names
            size += bytes_of(chunk)
            numbers = sample.choose(size_of(chunk))
            sample.add(numbers, [chunk.bytes_of(number) for number in numbers.tolist()])
        forms = csv_forms(names or [], sample.items(), seen.format, typed=self.options.typed)
        return merge_samples(_weigh(ranges.keys(rows)[1], _weight(task, size)) for rows in forms)


def _weight(task: SampleTask, size: int) -> float:
    """Returns the weight of all rows of the split. A split that is smaller than the distance of spots stands for
    others, too."""
    return size * max(1.0, task.step / task.rows_bytes)


def _weigh(keys: Sequence[bytes], weight: float) -> Samples:
    found: Samples = defaultdict(float)
    for key in keys:
        found[key[:_KEY_BYTES_MAX]] += weight / len(keys)
    return found


def merge_samples(every: Iterable[Samples]) -> Samples:
    found: Samples = defaultdict(float)
    for samples in every:
        for key, weight in samples.items():
            found[key] += weight
    return found


_tasks = msgspec.msgpack.Decoder(list[SampleTask])
_samples = msgspec.msgpack.Decoder(Samples)
