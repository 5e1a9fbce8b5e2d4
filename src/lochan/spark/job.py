"""One write from its beginning to its end, in whatever processes that happens: it is begun, its tasks write, and it is
landed once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from lochan.errors import Invalid
from lochan.jobs.landing import Landed, Once, land
from lochan.jobs.messages import Message
from lochan.jobs.target import Target, target_of
from lochan.lake import Lake
from lochan.spark.lakes import LakePlace, on_lake, patient
from lochan.versioning.moving import Said
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL
from lochan.versioning.uri import Uri, on_branch


class Job(Protocol):
    """May be pickled."""

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Message]:
        """What a task does. Raises TaskFailed."""

    def land(self, messages: Iterable[Message]) -> Landed:
        """All that the tasks wrote, as one commit. Done again, it finds what it did."""


@dataclass(frozen=True)
class PoolJob:
    place: LakePlace
    pool: str
    branch: str
    target: Target
    once: Once
    said: Said
    replace: bool

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Message]:
        from lochan.jobs.parts import write_rows  # with an engine behind it: only tasks need that

        return write_rows(self.target, batches)

    def land(self, messages: Iterable[Message]) -> Landed:
        every = list(messages)
        return patient(lambda: on_lake(self.place, lambda lake: self._land(lake, every)))

    async def _land(self, lake: Lake, messages: list[Message]) -> Landed:
        repository = await lake.open_repository(self.pool)
        try:
            return await land(
                repository,
                self.branch,
                messages,
                self.said,
                actor=self.place.actor,
                once=self.once,
                replace=self.replace,
                why="load",
            )
        finally:
            await repository.close()


def begin(place: LakePlace, uri: Uri, said: Said, *, replace: bool) -> Job:
    """Before the first task. Raises NotFound, Refused, Invalid for a place that cannot be written to."""
    return on_lake(place, lambda lake: _begin(lake, place, uri, said, replace))


async def _begin(lake: Lake, place: LakePlace, uri: Uri, said: Said, replace: bool) -> Job:
    repository = await lake.open_repository(uri.repository)
    try:
        if repository.repository.kind == POOL:
            return await _begin_pool(lake, repository, place, uri, said, replace)
        from lochan.spark.table_job import begin_table

        return await begin_table(lake, repository, place, uri, said, replace)
    finally:
        await repository.close()


async def _begin_pool(
    lake: Lake, repository: OpenRepository, place: LakePlace, uri: Uri, said: Said, replace: bool
) -> PoolJob:
    if uri.path:
        raise Invalid(f"{uri}: a pool holds rows, and no files", hint=f"write to {uri._replace(path='')}")
    branch = on_branch(uri).ref or repository.repository.default_branch
    target = await target_of(repository, place.store, branch)
    once = Once(lake.ids.ksuid(lake.clock.wall()), since=repository.folded().branch(branch).head)
    return PoolJob(place, uri.repository, branch, target, once, said, replace)
