"""The options of all tasks of upkeep, and the reports of their acts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lochan.api.results import Result
from lochan.pools.upkeep import Upkeep as UpkeepPolicy

if TYPE_CHECKING:
    from lochan.api.session import Session

DAY_US = 86_400_000_000


class UpkeepOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When tasks run, and their limits; see the settings `upkeep.…`."""

    schedule: Mapping[str, str] = {}  # by task, such as 1h, 03:00 or off; a missing task runs at its standard times
    policy: UpkeepPolicy | None = None  # the policy of pools; None for the standard one
    upload_days: float = 7.0
    usage_days: float | None = None  # how long the usage log is kept; None: for ever
    grace_hours: float = 24.0
    scrub_rate: int = 50_000_000  # bytes in a second
    scrub_minutes: float = 10.0  # the time for each repository
    ingest_sources: str = ""  # such as `demo@main/logs/=s3://bucket/logs/`, with spaces between them
    memory_bytes: int = 512 << 20
    threads: int = 1


STANDARD_OPTIONS = UpkeepOptions()


class TaskStep(Result, frozen=True, kw_only=True):
    """One thing that a task did, or could not do."""

    task: str
    where: str  # a repository, a branch, or `lake`
    outcome: str
    error: str = ""


class Did(NamedTuple):
    """The report of an act about one thing."""

    where: str
    outcome: str = ""
    error: Exception | None = None


Act = Callable[["Session", UpkeepOptions], AsyncIterator[Did]]


class UpkeepTask(NamedTuple):
    name: str
    about: str
    when: str  # its standard schedule
    act: Act
