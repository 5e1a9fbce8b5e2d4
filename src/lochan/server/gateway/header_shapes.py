"""What the names of a request's headers come to: whether it is a plain read, or a plain write. A client's are the same
all day."""

from collections.abc import Collection
from typing import NamedTuple

_TOKEN = "x-amz-security-token"  # no key here is one of a session, which is for the general way to say
_META = "x-amz-meta-"

# Headers that say nothing but who asks, and how.
_HARMLESS = frozenset(
    (
        *("accept", "accept-encoding", "accept-language", "amz-sdk-invocation-id", "amz-sdk-request", "authorization"),
        *("connection", "date", "host", "pragma", "user-agent", "x-amz-api-version", "x-amz-content-sha256"),
        *("x-amz-date", "x-amz-user-agent"),
    )
)
_READ = _HARMLESS | {"cache-control", "content-type", "x-amz-checksum-mode"}

# What is kept with an object, and what is declared of its body.
_KEPT = frozenset(("cache-control", "content-disposition", "content-language", "content-type", "expires"))
_DECLARED = frozenset(
    (
        *("content-md5", "x-amz-checksum-algorithm", "x-amz-checksum-crc32", "x-amz-checksum-crc32c"),
        *("x-amz-checksum-crc64nvme", "x-amz-checksum-sha1", "x-amz-checksum-sha256", "x-amz-sdk-checksum-algorithm"),
    )
)
_WRITE = _HARMLESS | _KEPT | _DECLARED | {"content-length", "expect"}


class Write(NamedTuple):
    """Which headers of a plain write are to be looked at."""

    kept: tuple[str, ...]
    has_metadata: bool
    is_declared: bool


class Shape:
    __slots__ = ("is_plain_read", "is_signed", "write")

    def __init__(self, names: tuple[str, ...], signed: Collection[str]) -> None:
        self.is_signed = _TOKEN not in names and all(name in signed for name in names if name.startswith("x-amz-"))
        self.is_plain_read = self.is_signed and _READ.issuperset(names)
        self.write = _write(names) if self.is_signed else None  # None: it is no plain one


def _write(names: tuple[str, ...]) -> Write | None:
    others = [name for name in names if not name.startswith(_META)]
    if not _WRITE.issuperset(others):
        return None
    kept = tuple(name for name in others if name in _KEPT)
    return Write(kept, len(others) < len(names), not _DECLARED.isdisjoint(others))
