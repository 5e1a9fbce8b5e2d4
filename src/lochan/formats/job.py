"""The record of a job on Spark: its progress and its end. The store holds one object for each job.

The record describes work, never data: it holds no value of a row."""

import msgspec

from lochan.errors import FutureFormat
from lochan.formats import json_file

PREFIX = "_lake/jobs/"
FORMAT = 1

RUNNING, DONE, FAILED, CANCELLED = "running", "done", "failed", "cancelled"


class JobStageRecord(msgspec.Struct, frozen=True):
    """A stage of the Spark job. Fields are only ever added at the end."""

    id: int
    name: str
    done: int  # the number of tasks that are done
    total: int
    failed: int = 0


class JobLogLine(msgspec.Struct, frozen=True):
    time: int
    text: str


class JobRecord(msgspec.Struct, frozen=True):
    """The record of a job. Fields are only ever added at the end."""

    format: int
    id: str  # a KSUID, so that names sort by when jobs began
    kind: str  # such as query, load or compact
    about: str  # the names that it works on, such as logs@main
    user: str
    client: str
    source: str  # the machine that it was started on
    where: str  # the Spark that it runs on
    started: int
    beat: int  # the time of its last heartbeat
    state: str = RUNNING
    ended: int = 0
    done: int = 0  # tasks that are done, of those known so far
    total: int = 0
    rows: int | None = None
    error: str = ""
    stages: tuple[JobStageRecord, ...] = ()
    lines: tuple[JobLogLine, ...] = ()  # the last lines of its log
    executor_bytes: int | None = None  # bytes that tasks wrote to the store; None if they were not counted
    driver_bytes: int | None = None  # bytes that the driver wrote to the store
    silent: bool = False  # whether it has no heartbeat before it ends


def path_of(id: str) -> str:
    return f"{PREFIX}{id}.json"


def id_of(path: str) -> str:
    return path.removeprefix(PREFIX).removesuffix(".json")


def encode(record: JobRecord) -> bytes:
    return json_file.seal(record)


def decode(data: bytes, path: str) -> JobRecord:
    """Returns the record. Raises Corrupt or FutureFormat."""
    unsealed = json_file.unseal(data, path, _HINT)
    version = unsealed.fields.get("format")
    if type(version) is int and version > FORMAT:
        raise FutureFormat(f"{path} has format {version}; this Lochan reads up to {FORMAT}", hint="upgrade Lochan")
    return json_file.convert(unsealed, JobRecord, path, _HINT)


_HINT = "it only describes a job, and may be deleted"
