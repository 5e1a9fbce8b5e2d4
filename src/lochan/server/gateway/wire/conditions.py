"""Whether a request may go on, given the object as it is now: If-Match and its relatives, with S3's precedence.

A tag that matches outweighs a date: If-Match true and If-Unmodified-Since false goes on; If-None-Match false and
If-Modified-Since true does not. A date that is none is ignored.
"""

from collections.abc import Mapping
from typing import NamedTuple

from lochan.server.gateway.wire.dates import parse_http_date
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.etags import unquoted

COPY_PREFIX = "x-amz-copy-source-"


class Current(NamedTuple):
    """The object as it is: its tag without quotes, and when it was written, in whole seconds as HTTP knows them."""

    etag: str
    modified: int


class Conditions(NamedTuple):
    match: str | None = None
    none_match: str | None = None
    modified_since: str | None = None
    unmodified_since: str | None = None

    def check_read(self, current: Current) -> None:
        """GET and HEAD. Raises PreconditionFailed or NotModified."""
        if fault := self._broken_promise(current):
            raise _failed(fault)
        if self._not_wanted(current):
            error = S3Error("NotModified")
            raise error.with_header("etag", f'"{current.etag}"')

    def check_copy(self, current: Current) -> None:
        """The source of a copy: whatever does not hold is PreconditionFailed."""
        if fault := self._broken_promise(current) or self._not_wanted(current):
            raise _failed(COPY_PREFIX + fault.lower())

    def check_write(self, current: Current | None) -> None:
        """PUT, Complete, DELETE. Raises PreconditionFailed, or NoSuchKey where one must match and there is none."""
        if self.match is not None:
            if current is None:
                raise S3Error("NoSuchKey")
            if not _listed(self.match, current.etag, weakly=False):
                raise _failed("If-Match")
        if self.none_match is not None and current is not None and _listed(self.none_match, current.etag, weakly=True):
            raise _failed("If-None-Match")

    def _broken_promise(self, current: Current) -> str:
        """The condition that the object is still the same and that fails, if any."""
        if self.match is not None:
            return "" if _listed(self.match, current.etag, weakly=False) else "If-Match"
        since = _date(self.unmodified_since)
        return "If-Unmodified-Since" if since is not None and current.modified > since else ""

    def _not_wanted(self, current: Current) -> str:
        """The condition that the object is another one and that fails, if any."""
        if self.none_match is not None:
            return "If-None-Match" if _listed(self.none_match, current.etag, weakly=True) else ""
        since = _date(self.modified_since)
        return "If-Modified-Since" if since is not None and current.modified <= since else ""


NONE = Conditions()


def conditions(headers: Mapping[str, str], prefix: str = "") -> Conditions:
    """Of headers with names in lower case; COPY_PREFIX for those about a copy's source."""
    found = Conditions(
        headers.get(f"{prefix}if-match"),
        headers.get(f"{prefix}if-none-match"),
        headers.get(f"{prefix}if-modified-since"),
        headers.get(f"{prefix}if-unmodified-since"),
    )
    return NONE if found == NONE else found


def _listed(header: str, etag: str, weakly: bool) -> bool:
    """Whether `*` or a list of tags names this one. A weak tag never proves that bytes are the same."""
    for tag in header.split(","):
        tag = tag.strip()
        if tag == "*":
            return True
        weak = tag.startswith("W/")
        if (weakly or not weak) and unquoted(tag.removeprefix("W/")) == etag:
            return True
    return False


def _date(text: str | None) -> int | None:
    return None if text is None else parse_http_date(text)


def _failed(condition: str) -> S3Error:
    return S3Error("PreconditionFailed", Condition=condition)
