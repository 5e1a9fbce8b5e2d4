"""A pool: rows sorted by a key, under branches, tags and commits like files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from lochan.api.bodies import Body
from lochan.api.branch import message_of
from lochan.api.given_rows import given_files, given_rows
from lochan.api.load import DEFAULT_LOAD, BytesProgress, LoadOptions, LoadRequest, load_files, loads_on_spark
from lochan.api.load_sources import LoadSource, find_sources
from lochan.api.options import DEFAULT_COMMIT, DEFAULT_ENGINE, CommitOptions, EngineOptions
from lochan.api.ref import pool_settings
from lochan.api.repository import Repository
from lochan.api.results import DeleteResult, LoadResult, PoolSummary
from lochan.api.row_bytes import is_row_bytes, load_bytes
from lochan.api.row_fingerprint import DigestedRows, fingerprint_rows
from lochan.api.session import about
from lochan.api.upkeep import EVERYTHING, CompactGroup, CompactOptions, CompactResult

if TYPE_CHECKING:
    import threading

    from lochan.api.streams import BatchListener, StreamOptions, StreamSource
    from lochan.engines.duckdb.load.load import LoadCommit, LoaderOptions
    from lochan.engines.result import Result
    from lochan.engines.spark.progress import Listener
    from lochan.formats.record import Actor
    from lochan.lake import Lake
    from lochan.versioning.heads.moves import CommitMessage


_HERE = EngineOptions(engine="duckdb")


class Pool(Repository):
    async def load(
        self,
        rows: Any,
        message: str = "",
        options: CommitOptions = DEFAULT_COMMIT,
        *,
        branch: str = "",
        load_options: LoadOptions = DEFAULT_LOAD,
        shared: bool = False,
    ) -> LoadResult:
        """Loads rows as one commit: all of them or none. `rows` are dicts; a frame of pandas or Polars, a relation of
        DuckDB, an Arrow table or reader, or anything else that speaks Arrow; files: paths, globs, folders, URLs, an
        open one; or bytes of any format, whole or in pieces. `load_options` are for files and bytes. With a key in
        `options`, a repeated load is not loaded twice. With `shared`, few bytes may share their commit with other loads
        of the moment. Raises Invalid for what is no rows, NotFound for files that do not exist, NothingToDo if there
        are no rows."""
        if message:
            options = msgspec.structs.replace(options, message=message)
        if is_row_bytes(rows):
            with about(self.name):
                given = self._session, self.name, rows, load_options, options, DEFAULT_ENGINE
                return await load_bytes(*given, branch=branch, shared=shared)
        files = given_files(rows)
        if files:
            sources = await find_sources(self._session.lake, files)
            return await self.load_files(sources, load_options, options, branch=branch)
        commit_message = message_of(options)
        rows = rows if isinstance(rows, DigestedRows) else given_rows(rows)
        with about(self.name):
            actor, lake = self._session.actor, self._session.lake
            done = await load_rows(lake, self.name, rows, commit_message, branch=branch, actor=actor, key=options.key)
        return LoadResult.of(done)

    async def load_engine(self, sources: Sequence[LoadSource], engine: EngineOptions = DEFAULT_ENGINE) -> str:
        """Returns which engine `load_files` would use: duckdb or spark. Raises Refused for Spark that cannot run."""
        spark = loads_on_spark(engine, sources, self._session.spark(engine.master))
        return "spark" if spark else "duckdb"

    async def load_files(
        self,
        sources: Sequence[LoadSource],
        load_options: LoadOptions = DEFAULT_LOAD,
        options: CommitOptions = DEFAULT_COMMIT,
        engine: EngineOptions = DEFAULT_ENGINE,
        *,
        branch: str = "",
        progress: BytesProgress | None = None,
        stages: Listener | None = None,
    ) -> LoadResult:
        """Loads what `Lake.load_sources` found as one commit: all of it or nothing. The pool is made if `load_options`
        ask for it, and has its name once its rows have landed. `progress` is called with bytes while DuckDB loads,
        `stages` with the progress of Spark. Raises NotFound, Invalid for what is no rows, NothingToDo if there are
        none, Refused if it is not a pool."""
        message = message_of(options)
        files = [(each.name, each.size) for each in sources]
        actor = self._session.acting(options.key, "load files", self.name, branch, files, load_options, message)
        request = LoadRequest(self.name, branch, sources, load_options, message, actor, engine, progress, stages)
        done = await load_files(self._session, request)
        return LoadResult.of(done.loaded, done.note)

    async def load_body(
        self,
        body: Body,
        load_options: LoadOptions = DEFAULT_LOAD,
        options: CommitOptions = DEFAULT_COMMIT,
        *,
        branch: str = "",
        name: str = "",
        archive: bool = False,
    ) -> LoadResult:
        """Loads the bytes of a file of rows, in any format that `load_files` supports, as one commit: all of it or
        nothing. `name` is what messages call it, and its ending may decide the format. With `archive`, the bytes are a
        tar of such files. Raises as `load_files` does."""
        given = self._session, self.name, body, load_options, options, _HERE
        return await load_bytes(*given, branch=branch, name=name, archive=archive)

    async def ingest_stream(
        self,
        source: StreamSource,
        options: StreamOptions | None = None,
        *,
        branch: str = "",
        stop: threading.Event | None = None,
        progress: BatchListener | None = None,
    ) -> None:
        """Follows a source. What arrives within a while is one commit, and each row is loaded once, even if the process
        was killed and started again. It goes on until the source ends or `stop` is set; then what was read has landed.
        Cancelling it after that does not wait. `progress` is called with each batch. Raises NotFound, Refused if it is
        no pool or if another stream has the same checkpoint, and what keeps it from going on; what landed stays."""
        import threading

        from lochan.api.streams import StreamOptions, StreamRequest, follow
        from lochan.api.uri import Uri

        uri, ending = Uri(self.name, branch, ""), stop or threading.Event()
        request = StreamRequest(uri, options or StreamOptions(), ending, progress)
        with about(self.name):
            await follow(self._session, source, request)

    async def query(
        self, text: str, options: EngineOptions = DEFAULT_ENGINE, *, progress: Listener | None = None
    ) -> Result:
        """Runs a query that reads this pool, and so need not begin with `from`. Raises as `Lake.query` does."""
        from lochan.api.queries import run_options, run_query

        chosen = run_options(self._session, text, options, self.name, progress=progress)
        return await run_query(self._session.lake, text, chosen)

    async def fields(self) -> list[str]:
        """Returns the fields of its rows on the default branch, as paths with dots. Raises NotFound."""
        from lochan.engines.explain import fields_of

        return await fields_of(self._session.lake.queries(), self.name)

    async def summary(self, branch: str = "") -> PoolSummary:
        """Returns what a branch holds. Raises NotFound, Refused for a repository of files."""
        from lochan.pools.objects import entries, summarize_objects

        async with self._session.opened(self.name) as repository:
            settings = pool_settings(repository)
            name = branch or repository.repository.default_branch
            refs, _ = await repository.refs()
            head = refs.branch(name).head
            found = summarize_objects(await entries(await repository.tree(refs.commit(head))), settings)
            return PoolSummary(branch=name, head=head, **found)

    async def delete_rows(
        self, where: str, options: CommitOptions = DEFAULT_COMMIT, *, branch: str = ""
    ) -> DeleteResult:
        """Deletes the rows for which the expression is true, such as `status < 400`, as one commit. Raises QueryError,
        NothingToDo, Refused for a repository of files."""
        from lochan.engines.duckdb.delete import delete_where

        message = message_of(options)
        actor = self._session.acting(options.key, "delete rows", self.name, branch, where, message)
        async with self._session.opened(self.name) as repository:
            pool_settings(repository)
            files = self._session.lake.queries().files
            name = branch or repository.repository.default_branch
            return DeleteResult(**(await delete_where(repository, name, where, files, message, actor=actor))._asdict())

    async def delete_objects(
        self, ids: Sequence[str], options: CommitOptions = DEFAULT_COMMIT, *, branch: str = ""
    ) -> str:
        """Deletes data objects, by their ids or the beginnings of these, as one commit, and returns its id. Raises
        NotFound, Ambiguous, Refused for a repository of files."""
        from lochan.pools.commit_objects import delete_objects

        message = message_of(options)
        actor = self._session.acting(options.key, "delete objects", self.name, branch, ids, message)
        async with self._session.opened(self.name) as repository:
            pool_settings(repository)
            name = branch or repository.repository.default_branch
            return await delete_objects(repository, name, ids, message, actor=actor)

    async def compact(
        self,
        which: CompactOptions = EVERYTHING,
        options: CommitOptions = DEFAULT_COMMIT,
        engine: EngineOptions = DEFAULT_ENGINE,
        *,
        branch: str = "",
        progress: Listener | None = None,
    ) -> CompactResult:
        """Merges data objects that overlap or are small. The rows stay the same, and earlier commits still hold the
        objects as they were. `progress` is called with the progress of Spark. Raises NothingToDo, Refused for a
        repository of files."""
        from lochan.jobs.compaction import CompactJobOptions as JobOptions
        from lochan.jobs.compaction import compact

        message, lake = message_of(options), self._session.lake
        actor = self._session.acting(options.key, "compact", self.name, branch, which, message)
        job = JobOptions(engine.engine, engine.limits, self._session.spark(engine.master), progress)
        async with self._session.opened(self.name) as repository:
            request = which.request(pool_settings(repository))
            name = branch or repository.repository.default_branch
            done = await compact(repository, name, lake.queries(), request, message, actor=actor, options=job)
            return CompactResult(**done._asdict())

    async def try_compact(self, which: CompactOptions = EVERYTHING, *, branch: str = "") -> list[CompactGroup]:
        """Returns which objects `compact` would merge, and changes nothing."""
        from lochan.jobs.compaction_plan import rehearse

        async with self._session.opened(self.name) as repository:
            request = which.request(pool_settings(repository))
            groups = await rehearse(repository, branch or repository.repository.default_branch, request)
            return [
                CompactGroup(objects=len(each.paths), rows=each.rows, bytes=each.bytes, why=each.why) for each in groups
            ]


async def load_rows(
    lake: Lake,
    pool: str,
    rows: Any,
    message: CommitMessage | None = None,
    *,
    branch: str = "",
    actor: Actor,
    options: LoaderOptions | None = None,
    key: str = "",
) -> LoadCommit:
    """Loads dicts, an Arrow table or batches, the path of a file or several: as one commit, all of it or nothing. With
    an idempotency `key`, a repeated load is not loaded twice, and returns the first result. Raises Invalid for values
    that are no rows, NothingToDo if there are none, KeyReused for a key of another request."""
    from lochan.engines.duckdb.load.load import STANDARD
    from lochan.engines.duckdb.load.load import load_rows as load
    from lochan.journal.keys import with_key
    from lochan.versioning.heads.moves import NOTHING

    repository = await lake.open_repository(pool)
    try:
        at, words, reading = branch or repository.repository.default_branch, message or NOTHING, options or STANDARD
        if not key:
            rows = rows.rows if isinstance(rows, DigestedRows) else rows
            return await load(repository, at, rows, words, actor=actor, options=reading)
        async with fingerprint_rows(rows) as found:
            actor = with_key(actor, key, "load", pool, branch, words, found.sha256)
            return await load(repository, at, found.rows, words, actor=actor, options=reading)
    finally:
        await repository.close()
