"""Conditions on an object for a verb to continue: If-Match and its relatives, in plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from lochan.errors import PreconditionFailed

if TYPE_CHECKING:
    from lochan.versioning.objects import Check

ANYTHING = "*"  # among ETags: matches any object
_SECOND = 1_000_000


class CheckedObject(Protocol):
    """The attributes of an object that conditions check."""

    @property
    def etag(self) -> str: ...
    @property
    def mtime(self) -> int:
        """The time of the object, in microseconds since 1970."""

    @property
    def size(self) -> int: ...


class ConditionFailed(PreconditionFailed):
    """A condition was not met. `condition` is the name of the field of `Conditions` that failed; `etag` is that of the
    object, or None if there is no object. `of_source` is true if it is the source of a copy or a move."""

    def __init__(self, message: str, condition: str, etag: str | None, *, of_source: bool = False) -> None:
        super().__init__(message)
        self.condition = condition
        self.etag = etag
        self.of_source = of_source


class Conditions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Conditions on an object. None sets no condition. A tag outweighs a date: if `match` is given, `unmodified_since`
    does not count, and if `none_match` is given, `modified_since` does not count. Times are in whole seconds since
    1970, as in HTTP."""

    match: tuple[str, ...] | None = None  # ETags; the object must have one of them
    none_match: tuple[str, ...] | None = None  # ETags; it must have none of them. `*`: there must be no object
    unmodified_since: int | None = None
    modified_since: int | None = None
    modified: int | None = None  # the exact second
    size: int | None = None

    def check(self, path: str, there: CheckedObject | None, *, of_source: bool = False) -> None:
        """Raises ConditionFailed if the object does not meet the conditions."""
        failed = self._find_failure_without_object() if there is None else self._find_failure(there)
        if failed:
            etag = None if there is None else there.etag
            raise ConditionFailed(_message(path, failed, etag), failed, etag, of_source=of_source)

    def checking(self, path: str, *, of_source: bool = False) -> Check | None:
        """Returns `check` for the object at that path, or None if there is nothing to check."""
        if self == NO_CONDITIONS:
            return None
        return lambda there: self.check(path, there, of_source=of_source)

    def _find_failure_without_object(self) -> str:
        needed = {"match": self.match, "modified": self.modified, "size": self.size}
        return next((name for name, value in needed.items() if value is not None), "")

    def _find_failure(self, there: CheckedObject) -> str:
        second = there.mtime // _SECOND
        if self.match is not None:
            if not _has_etag(self.match, there.etag):
                return "match"
        elif self.unmodified_since is not None and second > self.unmodified_since:
            return "unmodified_since"
        if self.none_match is not None:
            if _has_etag(self.none_match, there.etag):
                return "none_match"
        elif self.modified_since is not None and second <= self.modified_since:
            return "modified_since"
        if self.modified is not None and self.modified != second:
            return "modified"
        return "size" if self.size is not None and self.size != there.size else ""


NO_CONDITIONS = Conditions()


def _has_etag(etags: tuple[str, ...], etag: str) -> bool:
    return ANYTHING in etags or etag in etags


def _message(path: str, failed: str, etag: str | None) -> str:
    if etag is None:
        return f"there is no object {path!r} any more"
    if failed == "none_match":
        return f"there is an object {path!r} already"
    if failed in ("match", "unmodified_since"):
        return f"the object {path!r} was changed: its ETag is {etag}"
    if failed == "modified_since":
        return f"the object {path!r} was not changed"
    return f"the object {path!r} has another {'size' if failed == 'size' else 'time of change'}"
