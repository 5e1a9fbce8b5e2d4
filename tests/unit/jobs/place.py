"""A pool in a folder, written to by tasks that run in this process: a whole job without Spark."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from lochan.formats.entry import Entry
from lochan.formats.entry_table import entries_of
from lochan.formats.pool_settings import PoolSettings
from lochan.jobs.job_commit import LandResult, land
from lochan.jobs.messages import PoolTarget, TaskMessage, as_batches, from_table, pool_target
from lochan.jobs.pool_writer import write_rows
from lochan.versioning.open_repository import OpenRepository
from tests.unit.engines.lake import ANN, BY_K, QueryLake, query_lake


class JobPool:
    def __init__(self, lake: QueryLake, repository: OpenRepository) -> None:
        self.lake = lake
        self.repository = repository

    async def target(self, branch: str = "main", **more: Any) -> PoolTarget:
        """The target as an executor gets it."""
        made = await pool_target(self.repository, self.lake.lake.place, branch, **more)
        sent: PoolTarget = pickle.loads(pickle.dumps(made))
        return sent

    async def write(self, *parts: Iterable[dict[str, Any]]) -> list[TaskMessage]:
        """A task for each, whose messages come through Arrow."""
        target = await self.target()
        return [message for part in parts for message in await task(target, [pa.Table.from_pylist(list(part))])]

    async def land(self, messages: Sequence[TaskMessage], **more: Any) -> LandResult:
        return await land(self.repository, "main", messages, actor=ANN, **more)

    async def head(self) -> str:
        return (await self.repository.resolve("main")).commit_id

    async def entries(self, pool: str = "") -> list[Entry]:
        """All that is on its main branch, or that of another pool."""
        if pool:
            repository = await self.lake.lake.open_repository(pool)
            try:
                return await JobPool(self.lake, repository).entries()
            finally:
                await repository.close()
        tree = await self.repository.tree((await self.repository.resolve("main")).commit)
        return [entry async for batch in tree.scan() for entry in entries_of(pa.Table.from_batches([batch]))]


async def task(target: PoolTarget, tables: Iterable[pa.Table]) -> list[TaskMessage]:
    batches = [batch for table in tables for batch in table.to_batches()]
    sent = await asyncio.to_thread(lambda: list(as_batches(write_rows(target, iter(batches)))))
    return from_table(pa.Table.from_batches(sent)) if sent else []


@asynccontextmanager
async def job_pool(folder: Path, settings: PoolSettings = BY_K) -> AsyncIterator[JobPool]:
    async with query_lake(folder) as lake:
        await lake.pool("logs", settings=settings)
        repository = await lake.lake.open_repository("logs")
        try:
            yield JobPool(lake, repository)
        finally:
            await repository.close()
