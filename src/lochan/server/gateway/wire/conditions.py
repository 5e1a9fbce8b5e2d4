"""Whether a request may go on, given the object as it is now: If-Match and its relatives, with S3's precedence.

A tag that matches outweighs a date: If-Match true and If-Unmodified-Since false goes on; If-None-Match false and
If-Modified-Since true does not. A date that is none is ignored.
"""

from collections.abc import Mapping
from typing import NamedTuple

from lochan.server.gateway.wire.dates import parse_http_date, parse_iso_extended
from lochan.server.gateway.wire.errors import S3Error

COPY_PREFIX = "x-amz-copy-source-"


class Current(NamedTuple):
    """The object as it is: its tag without quotes, and when it was written, in whole seconds as HTTP knows them."""

    etag: str
    modified: int
    size: int = 0


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


class DeleteConditions(NamedTuple):
    """What an object must be for it to be deleted; None: whatever it is."""

    etag: str | None = None
    modified: int | None = None
    size: int | None = None

    def check(self, current: Current | None) -> None:
        """Raises PreconditionFailed, or NoSuchKey where there is none."""
        if current is None:
            raise S3Error("NoSuchKey")
        if self.etag is not None and not _listed(self.etag, current.etag, weakly=False):
            raise _failed("If-Match")
        if self.modified is not None and self.modified != current.modified:
            raise _failed(MATCH_MODIFIED)
        if self.size is not None and self.size != current.size:
            raise _failed(MATCH_SIZE)


ANY = DeleteConditions()
MATCH_MODIFIED, MATCH_SIZE = "x-amz-if-match-last-modified-time", "x-amz-if-match-size"


def delete_conditions(etag: str | None, modified: str | None, size: str | None) -> DeleteConditions:
    """Raises InvalidArgument for a time or a size that is none: to overlook it would be to delete whatever is there."""
    seconds = None if not modified else parse_http_date(modified) or parse_iso_extended(modified)
    if modified and seconds is None:
        raise S3Error("InvalidArgument", "This is no time.", ArgumentName=MATCH_MODIFIED, ArgumentValue=modified[:64])
    if size and not (size.isascii() and size.isdecimal() and len(size) < 20):
        raise S3Error("InvalidArgument", "This is no size.", ArgumentName=MATCH_SIZE, ArgumentValue=size[:64])
    return DeleteConditions(etag or None, seconds, int(size) if size else None)


def conditions(headers: Mapping[str, str], prefix: str = "") -> Conditions:
    """Of headers with names in lower case; COPY_PREFIX for those about a copy's source."""
    found = Conditions(
        headers.get(f"{prefix}if-match"),
        headers.get(f"{prefix}if-none-match"),
        headers.get(f"{prefix}if-modified-since"),
        headers.get(f"{prefix}if-unmodified-since"),
    )
    return NONE if found == NONE else found


def if_range_holds(header: str | None, current: Current) -> bool:
    """Whether a range is of the object that the client has a part of already; otherwise it is sent the whole. A date
    must be the very one that it was told, and a weak tag proves nothing."""
    if header is None:
        return True
    date = parse_http_date(header)
    return current.modified == date if date is not None else _listed(header, current.etag, weakly=False)


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


def quoted(etag: str) -> str:
    return f'"{etag}"'


def unquoted(text: str) -> str:
    """Clients give tags with quotes and without them."""
    text = text.strip()
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' else text
