"""Options that many verbs share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from lochan.api.results import microseconds


class CommitOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a verb that makes a commit may be told of it."""

    message: str = ""
    metadata: Mapping[str, str] = {}
    author: str = ""  # who acts, unless told otherwise
    date: datetime | None = None  # now, unless told otherwise; with a time zone
    key: str = ""  # idempotency: asked again with the same one, a verb gives its first result

    @property
    def date_us(self) -> int | None:
        """Raises Invalid."""
        return None if self.date is None else microseconds(self.date)


class EngineOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a verb that reads rows may be told."""

    engine: str = "auto"  # duckdb, spark
    memory_bytes: int | None = None  # None: the standard, 1 GiB
    timeout_s: float | None = None


DEFAULT_COMMIT = CommitOptions()
DEFAULT_ENGINE = EngineOptions()
