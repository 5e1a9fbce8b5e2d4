"""A pool: rows sorted by a key, under branches, tags and commits like files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lochan.api.options import DEFAULT_COMMIT, DEFAULT_ENGINE, CommitOptions, EngineOptions
from lochan.api.repository import Repository
from lochan.api.results import LoadResult
from lochan.api.session import about

if TYPE_CHECKING:
    from lochan.engines.result import Result


class Pool(Repository):
    async def load(
        self, rows: Any, message: str = "", options: CommitOptions = DEFAULT_COMMIT, *, branch: str = ""
    ) -> LoadResult:
        """Dicts, an Arrow table or batches, the path of a file or several: one commit, all of it or nothing. With a key
        in `options`, a load that is asked for again loads nothing twice. Raises Invalid for what is no rows,
        NothingToDo where there are none."""
        from lochan.versioning.head_moves import CommitMessage

        if message:
            options = msgspec.structs.replace(options, message=message)
        said = CommitMessage(options.message, options.metadata, options.author, options.date_us)
        with about(self.name):
            done = await self._session.lake.load(
                self.name, rows, said, branch=branch, actor=self._session.actor, key=options.key
            )
        return LoadResult(
            commit=done.commit,
            rows=done.rows,
            bytes=done.size_bytes,
            faults=done.faults.count,
            unparsed_times=done.unparsed_times,
        )

    async def query(self, text: str, options: EngineOptions = DEFAULT_ENGINE) -> Result:
        """A query that need not say `from`: it reads this pool. Raises as `Lake.query` does."""
        from lochan.api.lake import query

        return await query(self._session, text, options, pool=self.name)
