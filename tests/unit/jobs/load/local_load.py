"""A load on Spark without Spark: its tasks run here one after the other, and a dict is the shuffle."""

from __future__ import annotations

import asyncio
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa

from lochan.engines.duckdb.load.load import LoadCommit, LoaderOptions
from lochan.jobs.job_commit import land
from lochan.jobs.load.files import File
from lochan.jobs.load.load import LoadPlan, LoadWork, cut, load_commit, load_part, load_splits, plan_load
from lochan.jobs.load.sizes import LoadSizes
from lochan.jobs.load.survey import survey
from lochan.jobs.messages import TaskMessage
from tests.unit.engines.lake import ANN
from tests.unit.jobs.place import JobPool

SMALL = LoadSizes(part_bytes=1_000, split_bytes=500)  # so that a few rows are many tasks' work


async def load_here(
    pool: JobPool, files: Sequence[File], how: LoaderOptions | None = None, cutting: LoadSizes = SMALL
) -> LoadCommit:
    """Raises TaskFailed, as Spark would hand it on."""
    how = how or LoaderOptions()
    target = await pool.target()
    messages = await asyncio.to_thread(
        lambda: played(plan_load(survey(files, how.format, run_here), target, how, cutting, parallel=2, run=run_here))
    )
    landed = await land(pool.repository, "main", messages, actor=ANN)
    return load_commit(landed, how)


def run_here(work: Callable[[Iterable[bytes]], Iterator[bytes]], tasks: Sequence[bytes]) -> list[bytes]:
    sent: Callable[[Iterable[bytes]], Iterator[bytes]] = pickle.loads(pickle.dumps(work))
    return [result for task in tasks for result in sent([task])]


def played(plan: LoadPlan) -> list[TaskMessage]:
    sent: LoadWork = pickle.loads(pickle.dumps(plan.work))
    tasks = [pa.RecordBatch.from_pydict({"number": [0], "task": [task]}) for task in plan.tasks]
    if not sent.bounds:
        return list(load_splits(sent, tasks))
    parts: dict[int, list[pa.RecordBatch]] = defaultdict(list)
    for task in tasks:
        for part, record in records_in(cut(sent, [task])):
            parts[part].append(record)
    return [message for records in parts.values() for message in load_part(sent, records)]


def records_in(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Each record by itself, with the part that it goes to: Spark's shuffle takes them apart, too."""
    for batch in batches:
        for number, part in enumerate(batch.column("part").to_pylist()):
            yield part, batch.slice(number, 1)
