"""A query of the tree that would land, whose result must be empty.

It reads only its own repository: a source without a ref is the tree that would land, and a source with a ref is what is
there. So a hook never shows rows of a repository that its author may not read."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from lochan.engines.duckdb.limits import Limits
from lochan.engines.duckdb.session import run_on_thread
from lochan.engines.run_query import RunOptions, run_query
from lochan.errors import Refused
from lochan.formats.commit import Commit
from lochan.pools.snapshot import Snapshots
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.resolve import ResolvedRef

if TYPE_CHECKING:
    import pyarrow as pa

    from lochan.engines.query_context import QueryContext
    from lochan.engines.result import Result
    from lochan.journal.journal import Journal
    from lochan.journal.state import StatePart
    from lochan.versioning.repositories import Repository

_SHOWN_ROWS = 10
_SHOWN_BYTES = 8 << 10
_MEMORY_BYTES = 512 << 20


class QueryVerdict(NamedTuple):
    rows: int  # at least so many
    more: bool
    shown: str  # the first rows, as JSON lines


async def judge(
    context: QueryContext, repository: OpenRepository, commit: Commit, text: str, timeout_s: float
) -> QueryVerdict:
    """Runs the query. Raises QueryError, LimitReached, and the errors of reading."""
    judged = _judged_repository(repository, commit)
    own = replace(context, catalog=_OwnCatalog(judged), snapshots=Snapshots(), tell=None)
    limits = Limits(_MEMORY_BYTES, timeout_s, threads=2)
    options = RunOptions(engine="duckdb", limits=limits, ref=commit.id, reads_only=True)
    result = await run_query(own, text, options)
    return await run_on_thread(lambda: _read(result), result)


def _read(result: Result) -> QueryVerdict:
    shown: list[str] = []
    count = size = 0
    with result:
        for piece in result.ndjson():
            for line in piece.splitlines():
                count += 1
                size += len(line)
                if len(shown) < _SHOWN_ROWS and size <= _SHOWN_BYTES:
                    shown.append(line.decode(errors="replace"))
                elif count > _SHOWN_ROWS:
                    return QueryVerdict(count - 1, True, "\n".join(shown))
    return QueryVerdict(count, False, "\n".join(shown))


def _judged_repository(repository: OpenRepository, commit: Commit) -> _JudgedRepository:
    made = copy(repository)
    made.__class__ = _JudgedRepository
    assert isinstance(made, _JudgedRepository)
    made.candidate = commit
    return made


class _JudgedRepository(OpenRepository):
    """The repository as it would be after the change: one more commit can be named."""

    candidate: Commit

    async def resolve(self, ref: str, *, workspaces: bool = False) -> ResolvedRef:
        if ref == self.candidate.id:
            return ResolvedRef(ref, self.candidate, None)
        return await super().resolve(ref, workspaces=workspaces)

    async def close(self) -> None:
        """Does nothing: the repository is open elsewhere, and stays open."""


class _OwnCatalog:
    """A lake that contains one repository and nothing else."""

    def __init__(self, repository: _JudgedRepository) -> None:
        self._repository = repository

    @property
    def parts(self) -> tuple[type[StatePart], ...]:
        return ()

    async def repositories(self) -> list[Repository]:
        return [self._repository.repository]

    async def open_repository(self, name: str) -> OpenRepository:
        return self._repository

    async def journal(self, repository_id: str = "") -> Journal:
        _not_here()

    async def user_rows(self, time: int | None) -> list[dict[str, Any]]:
        _not_here()

    async def job_rows(self) -> list[dict[str, Any]]:
        _not_here()

    async def usage_rows(self) -> pa.Table:
        _not_here()


def _not_here() -> NoReturn:
    raise Refused("a hook reads its own repository alone", hint="name the repository, and nothing of the lake")
