"""A lake in a folder, with pools that are filled by loads, for tests of queries and of changes to rows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lochan.api.queries import run_query
from lochan.engines.duckdb.load.load import load_rows
from lochan.engines.run_query import RunOptions
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.store.local import LocalStore

ANN = Actor("ann", "test", "here")
BY_K = PoolSettings((PoolKey(("k",)),))

Row = Mapping[str, Any]


class QueryLake:
    def __init__(self, lake: Lake) -> None:
        self.lake = lake

    async def pool(self, name: str, *loads: Iterable[Row], settings: PoolSettings = BY_K) -> None:
        """A new pool, with a commit for each of these loads."""
        await self.lake.create_pool(name, settings, actor=ANN)
        for rows in loads:
            await self.load(name, rows)

    async def load(self, name: str, rows: Iterable[Row], branch: str = "main") -> None:
        repository = await self.lake.open_repository(name)
        await load_rows(repository, branch, rows, actor=ANN)
        await repository.close()

    async def rows(self, text: str, **how: Any) -> list[Any]:
        with await run_query(self.lake, text, RunOptions(actor=ANN, **how)) as result:
            return list(result.rows())

    async def files(self, name: str) -> list[Path]:
        """The files of the pool's objects, in the order of the key."""
        root = Path(self.lake.url.removeprefix("file://"))
        return [root / row["address"] for row in await self.rows(f"from {name}:objects")]


@asynccontextmanager
async def query_lake(folder: Path) -> AsyncIterator[QueryLake]:
    lake = await Lake.create(LocalStore(str(folder / "lake"), create=True))
    try:
        yield QueryLake(lake)
    finally:
        await lake.close()
