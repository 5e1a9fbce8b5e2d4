"""A lake: repositories of files and pools of rows on one store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING

from lochan.api.options import DEFAULT_ENGINE, EngineOptions
from lochan.api.pool import Pool
from lochan.api.repository import Repository
from lochan.api.results import RepositoryInfo
from lochan.api.session import Session, about

if TYPE_CHECKING:
    from lochan.engines.result import Result
    from lochan.engines.row_diff.result import RowDiff
    from lochan.journal.feed import EventLine


class Lake:
    def __init__(self, session: Session) -> None:
        self._session = session

    def __repr__(self) -> str:
        return f"<Lake {self._session.lake.url}>"

    def repository(self, name: str) -> Repository:
        return Repository(self._session, name)

    def pool(self, name: str) -> Pool:
        return Pool(self._session, name)

    async def repositories(self) -> AsyncIterator[RepositoryInfo]:
        """Of files and of rows, in the order of their names."""
        for each in await self._session.lake.repositories():
            yield RepositoryInfo.of(each)

    async def pools(self) -> AsyncIterator[RepositoryInfo]:
        """In the order of their names."""
        async for each in self.repositories():
            if each.kind == "pool":
                yield each

    async def create_repository(
        self, name: str, *, default_branch: str = "main", metadata: Mapping[str, str] | None = None, key: str = ""
    ) -> Repository:
        """Raises AlreadyExists, Invalid."""
        await self._session.lake.create_repository(
            name, default_branch=default_branch, metadata=metadata, actor=self._session.actor, key=key
        )
        return self.repository(name)

    async def create_pool(
        self,
        name: str,
        *,
        key: str | Sequence[str] = (),
        default_branch: str = "main",
        metadata: Mapping[str, str] | None = None,
        request_key: str = "",
    ) -> Pool:
        """`key` is what rows are sorted by, such as `ts:time` or `["region", "id:desc"]`; without one, the whole row.
        Raises AlreadyExists, Invalid."""
        from lochan.pools.settings import parse

        keys = [key] if isinstance(key, str) else list(key)
        await self._session.lake.create_pool(
            name,
            parse(keys) if keys else None,
            default_branch=default_branch,
            metadata=metadata,
            actor=self._session.actor,
            key=request_key,
        )
        return self.pool(name)

    async def query(self, text: str, options: EngineOptions = DEFAULT_ENGINE, *, key: str = "") -> Result:
        """In the pipe language or SQL, at the snapshot of this moment. `.to_pandas()`, `.to_arrow()`, `.rows()`,
        `.ndjson()` give its rows. `key` is the idempotency key of a query that ends in `load`. Raises QueryError, whose
        text shows the place, Gone, Refused."""
        return await query(self._session, text, options, key=key)

    async def diff_rows(
        self,
        left: str,
        right: str,
        options: EngineOptions = DEFAULT_ENGINE,
        *,
        on: str | Sequence[str] | None = None,
        sample: int = 20,
    ) -> RowDiff:
        """Rows that differ between two refs of a pool (`logs@main`, `logs@dev`), or of files of a repository
        (`demo@main/data/a.csv`): counts, a sample, and all of them by `.to_arrow()` or `.to_pandas()`. Close it.

        `on` are fields that tell rows apart, by default the pool's primary key; with none, whole rows are compared.
        Raises Invalid for rows that they do not tell apart."""
        from lochan.engines.duckdb.limits import MEMORY_BYTES, Limits
        from lochan.engines.row_diff.sides import row_diff_request
        from lochan.jobs.diff_rows import DiffOptions

        repository, wish = row_diff_request(left, right, [on] if isinstance(on, str) else on)
        limits = Limits(options.memory_bytes or MEMORY_BYTES, options.timeout_s)
        how = DiffOptions(options.engine, limits, sample=sample, actor=self._session.actor)
        with about(repository):
            return await self._session.lake.diff_rows(repository, wish, how)

    async def events(
        self, repository: str | None = None, *, last: int | None = None, after: int | None = None, follow: bool = False
    ) -> AsyncIterator[EventLine]:
        """Who did what, when, from where: in one repository, or in all; the newest come last. With `follow`, also those
        to come. Raises NotFound."""
        async for line in self._session.lake.events(repository, last=last, after=after, follow=follow):
            yield line

    def new_key(self) -> str:
        """An idempotency key, which begins with the time it was made."""
        return self._session.lake.ids.idempotency_key(self._session.lake.clock.wall())

    async def close(self) -> None:
        await self._session.close()


async def query(session: Session, text: str, options: EngineOptions, *, pool: str = "", key: str = "") -> Result:
    from lochan.engines.duckdb.limits import MEMORY_BYTES, Limits
    from lochan.engines.run_query import RunOptions

    limits = Limits(options.memory_bytes or MEMORY_BYTES, options.timeout_s)
    actor = session.acting(key, "query", text)
    return await session.lake.query(text, RunOptions(current=pool, engine=options.engine, limits=limits, actor=actor))
