"""Options that many verbs share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from lochan.api.conditions import NO_CONDITIONS, Conditions
from lochan.api.results import microseconds, moment
from lochan.journal.keys import KEY_LENGTH_MAX as KEY_LENGTH_MAX

if TYPE_CHECKING:
    from lochan.engines.duckdb.limits import Limits
    from lochan.engines.spark.place import SparkPlace
    from lochan.query.sources.catalog import Permits


class CommitOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of verbs that make a commit."""

    message: str = ""
    metadata: Mapping[str, str] = {}
    author: str = ""  # by default the user who acts
    date: datetime | None = None  # with a time zone; by default now
    key: str = ""  # an idempotency key: a repeated call with the same key returns the first result

    @property
    def date_us(self) -> int | None:
        """The date in microseconds since 1970, or None. Raises Invalid."""
        return None if self.date is None else microseconds(self.date)


class EngineOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of verbs that read rows."""

    engine: str = "auto"  # duckdb, spark
    memory_bytes: int | None = None  # None: the standard, 1 GiB
    timeout_s: float | None = None
    threads: int | None = None  # None: as many as there are processors
    master: str | None = None  # where Spark runs; None: where it is configured
    skip_missing: bool = False  # leave out data objects that are gone, and say so

    @property
    def limits(self) -> Limits:
        from lochan.engines.duckdb.limits import MEMORY_BYTES, Limits

        return Limits(self.memory_bytes or MEMORY_BYTES, self.timeout_s, self.threads)

    def within(self, memory_bytes_max: int | None) -> EngineOptions:
        """Returns the options for a user of a server, with no more memory than that, and no more threads than
        processors."""
        import os

        most = self.limits.memory_bytes if memory_bytes_max is None else memory_bytes_max
        threads = None if self.threads is None else min(self.threads, os.cpu_count() or 1)
        return msgspec.structs.replace(self, memory_bytes=min(self.limits.memory_bytes, most), threads=threads)


class QueryOptions(EngineOptions, frozen=True, kw_only=True):
    """Options of a query that a server sets: see `Lake.query`."""

    ref: str = ""  # the ref of sources that name none
    permits: Permits | None = None  # what the user may read; None: everything
    reads_only: bool = False  # a query that would change a pool is refused
    alive: Callable[[], bool] | None = None  # called while the query is planned: False gives it up
    spill_bytes: int | None = None  # the most that it may put on the disk; None: nine tenths of what is free
    spark: SparkPlace | None = None  # where Spark runs; None: at `master`

    @property
    def limits(self) -> Limits:
        return super().limits._replace(spill_bytes=self.spill_bytes)


class PutOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of `put` and of an upload in parts, besides the bytes of an object."""

    content_type: str = ""
    headers: Mapping[str, str] = {}  # Cache-Control and its like, by lower-case name
    metadata: Mapping[str, str] = {}
    md5: str = ""  # in hex; the body must have it
    checksums: Mapping[str, str | None] = {}  # S3's, in base64 by algorithm: kept and compared, or only kept if None
    conditions: Conditions = NO_CONDITIONS  # on the object that is there


class CopyOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The properties of a copy that differ from those of its source; None keeps the source's."""

    content_type: str | None = None
    headers: Mapping[str, str] | None = None
    metadata: Mapping[str, str] | None = None
    checksum: str = ""  # an algorithm of S3's, by which the copy gets a checksum of the whole object
    conditions: Conditions = NO_CONDITIONS  # on the object that is there
    source_conditions: Conditions = NO_CONDITIONS


DEFAULT_PUT = PutOptions()
DEFAULT_COPY = CopyOptions()
DEFAULT_COMMIT = CommitOptions()
DEFAULT_ENGINE = EngineOptions()


def parse_time(text: str) -> datetime:
    """Parses ISO 8601, in UTC unless it has an offset, or a time relative to now: `yesterday`, `2 hours ago`. Raises
    Invalid."""
    from lochan.clock import SystemClock
    from lochan.versioning.uri import parse_time as parse

    return moment(parse(text, SystemClock().wall()))


def check_key(key: str) -> None:
    """Raises Invalid for a text that cannot be an idempotency key."""
    from lochan.journal.keys import check_key_text

    check_key_text(key)
