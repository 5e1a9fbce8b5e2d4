"""Jobs on Spark, as verbs return them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

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
    state: str  # running, done, failed, cancelled; lost: it has not reported for a minute
    stages_done: int
    stages_total: int
    done: int  # tasks
    total: int
    rows: int | None
    executor_bytes: int | None  # bytes that tasks have put to the store
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
        own = {name: getattr(job, name) for name in cls.__struct_fields__ if hasattr(job, name)}
        own |= {
            "stages_done": sum(each.done == each.total for each in job.stages),
            "stages_total": len(job.stages),
            "started": moment(job.started),
            "heard": moment(job.beat),
            "ended": moment(job.ended) if job.ended else None,
            "stages": tuple(JobStage(**msgspec.structs.asdict(each)) for each in job.stages),
            "log": tuple(JobLine(time=moment(each.time), text=each.text) for each in job.lines),
        }
        return cls(**own)

    def summary(self) -> dict[str, Any]:
        """Returns the job as JSON, without its stages and its log."""
        return {name: value for name, value in self.as_json().items() if name not in ("stages", "log")}
