"""Jobs on Spark, as verbs give them back."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from lochan.api.results import Result, moment

if TYPE_CHECKING:
    from lochan.formats.job import JobRecord


class JobStage(Result, frozen=True, kw_only=True):
    id: int
    name: str
    done: int  # tasks
    total: int
    failed: int


class JobLine(Result, frozen=True, kw_only=True):
    time: datetime
    text: str


class JobInfo(Result, frozen=True, kw_only=True):
    id: str
    kind: str  # query, load, compact …
    about: str  # names that it works on
    state: str  # running, done, failed, cancelled; lost: nobody has heard of it for a minute
    stages_done: int
    stages_total: int
    done: int  # tasks
    total: int
    rows: int | None
    executor_bytes: int | None  # that tasks have put to the store
    driver_bytes: int | None
    started: datetime
    heard: datetime
    ended: datetime | None
    where: str
    user: str
    client: str
    source: str
    error: str
    stages: tuple[JobStage, ...]
    log: tuple[JobLine, ...]  # its last lines

    @classmethod
    def of(cls, job: JobRecord) -> JobInfo:
        return cls(
            id=job.id,
            kind=job.kind,
            about=job.about,
            state=job.state,
            stages_done=sum(each.done == each.total for each in job.stages),
            stages_total=len(job.stages),
            done=job.done,
            total=job.total,
            rows=job.rows,
            executor_bytes=job.executor_bytes,
            driver_bytes=job.driver_bytes,
            started=moment(job.started),
            heard=moment(job.beat),
            ended=moment(job.ended) if job.ended else None,
            where=job.where,
            user=job.user,
            client=job.client,
            source=job.source,
            error=job.error,
            stages=tuple(
                JobStage(id=each.id, name=each.name, done=each.done, total=each.total, failed=each.failed)
                for each in job.stages
            ),
            log=tuple(JobLine(time=moment(each.time), text=each.text) for each in job.lines),
        )

    def summary(self) -> dict[str, Any]:
        """As JSON, without its stages and its log."""
        return {name: value for name, value in self.as_json().items() if name not in ("stages", "log")}
