"""A load on Spark without Spark: its tasks run here one after the other, and a dict is the shuffle."""

from __future__ import annotations

import asyncio
import pickle
from collections import defaultdict
from collections.abc import Sequence

import pyarrow as pa

from lochan.engines.duckdb.load.load import How, Loaded
from lochan.jobs.job_commit import land
from lochan.jobs.load.files import File
from lochan.jobs.load.load import Cutting, loaded_of, planned
from lochan.jobs.load.survey import look
from lochan.jobs.load.tasks import Work, cut, load_part, load_pieces
from lochan.jobs.messages import TaskMessage
from tests.unit.engines.lake import ANN
from tests.unit.jobs.place import JobPool

SMALL = Cutting(part_bytes=1_000, piece_bytes=500)  # so that a few rows are many tasks' work


async def load_here(pool: JobPool, files: Sequence[File], how: How | None = None, cutting: Cutting = SMALL) -> Loaded:
    """Raises TaskFailed, as Spark would hand it on."""
    how = how or How()
    target = await pool.target()
    messages = await asyncio.to_thread(
        lambda: played(planned(look(files, how.format), target, how, cutting, parallel=2))
    )
    landed = await land(pool.repository, "main", messages, actor=ANN)
    return loaded_of(landed, how)


def played(work: Work) -> list[TaskMessage]:
    sent: Work = pickle.loads(pickle.dumps(work))
    numbers = [pa.RecordBatch.from_pydict({"id": [number]}) for number in range(len(sent.pieces))]
    if not sent.bounds:
        return list(load_pieces(sent, numbers))
    parts: dict[int, list[pa.RecordBatch]] = defaultdict(list)
    for number in numbers:
        for record in cut(sent, [number]):
            parts[record.column("part")[0].as_py()].append(record)
    return [message for records in parts.values() for message in load_part(sent, records)]
