"""A load on Spark without Spark: its tasks run here one after the other, and a dict is the shuffle."""

from __future__ import annotations

import asyncio
import pickle
from collections import defaultdict
from collections.abc import Sequence

import pyarrow as pa

from lochan.engines.duckdb.load.load import LoadCommit, LoaderOptions
from lochan.jobs.job_commit import land
from lochan.jobs.load.files import File
from lochan.jobs.load.load import LoadSizes, LoadWork, cut, load_part, load_splits, loaded_of, planned
from lochan.jobs.load.survey import survey
from lochan.jobs.messages import TaskMessage
from tests.unit.engines.lake import ANN
from tests.unit.jobs.place import JobPool

SMALL = LoadSizes(part_bytes=1_000, piece_bytes=500)  # so that a few rows are many tasks' work


async def load_here(
    pool: JobPool, files: Sequence[File], how: LoaderOptions | None = None, cutting: LoadSizes = SMALL
) -> LoadCommit:
    """Raises TaskFailed, as Spark would hand it on."""
    how = how or LoaderOptions()
    target = await pool.target()
    messages = await asyncio.to_thread(
        lambda: played(planned(survey(files, how.format), target, how, cutting, parallel=2))
    )
    landed = await land(pool.repository, "main", messages, actor=ANN)
    return loaded_of(landed, how)


def played(work: LoadWork) -> list[TaskMessage]:
    sent: LoadWork = pickle.loads(pickle.dumps(work))
    numbers = [pa.RecordBatch.from_pydict({"id": [number]}) for number in range(len(sent.splits))]
    if not sent.bounds:
        return list(load_splits(sent, numbers))
    parts: dict[int, list[pa.RecordBatch]] = defaultdict(list)
    for number in numbers:
        for record in cut(sent, [number]):
            parts[record.column("part")[0].as_py()].append(record)
    return [message for records in parts.values() for message in load_part(sent, records)]
