"""Where the file of a body goes. The names are on somebody's disk.

    <repository>/data/<mint, 20 digits>-<writer>/<id>                   address style `id`
    <repository>/data/<mint, 20 digits>-<writer>/<id>/<logical path>    address style `path`

The id alone makes an address unique. The logical path is there for bucket policies and lifecycle rules, written so
that no store is led astray by it, and shortened where it would not fit; nothing ever reads it back.
"""

import re
from typing import Literal, NamedTuple

from lochan.clock import Clock
from lochan.errors import Invalid
from lochan.ids import Ids

Style = Literal["id", "path"]

ADDRESS_BYTES_MAX = 768  # of the 1,024 that a key of S3 may have; the rest is for the lake's own prefix
SEGMENT_BYTES_MAX = 255  # what a local disk takes as the name of a file or a folder

_KEPT_S = 60.0  # how long a folder is written to
_KEPT_NUMBERS = 100_000  # and for how many records

_UNSAFE = re.compile(r"[\x00-\x1f\x7f%]")
_DOTS = {"": "%", ".": "%2E", "..": "%2E%2E"}  # % alone comes of nothing else
_HALF_ESCAPE = re.compile(rb"%[0-9A-F]?$")


class Addresses:
    """Each call gives an address that was never given before."""

    def __init__(self, repository: str, writer: str, clock: Clock, ids: Ids, style: Style = "id") -> None:
        if style not in ("id", "path"):
            raise Invalid(f"{style!r} is not an address style", hint="there are id and path")
        self.style = style
        self._repository = repository
        self._writer = writer
        self._clock = clock
        self._ids = ids
        self._mint = 0
        self._since = float("-inf")  # when that number was taken

    def new(self, path: str, mint: int) -> str:
        """`mint` is the journal number that the writer had folded before the first byte."""
        name = self._ids.ksuid(self._clock.wall())
        address = f"{self._folder(mint)}/{name}"
        return with_path(address, path) if self.style == "path" else address

    def _folder(self, mint: int) -> str:
        """A number that was folded a while ago was folded before the first byte too, and garbage collection only
        becomes the more careful; but a new folder costs a disk three syncs more than one that is there."""
        now = self._clock.boot()
        if not self._since <= now < self._since + _KEPT_S or not self._mint <= mint < self._mint + _KEPT_NUMBERS:
            self._mint, self._since = mint, now
        return f"{self._repository}/data/{self._mint:020d}-{self._writer}"


def with_path(address: str, path: str) -> str:
    """As many of the path's segments as fit, from the first on: rules match by how a path begins."""
    for segment in path.split("/"):
        longer = f"{address}/{_safe(segment)}"
        if len(longer.encode()) > ADDRESS_BYTES_MAX:
            break
        address = longer
    return address


def is_outside(address: str) -> bool:
    """Whether this is the URL of a file outside the lake. Our own names have no empty segment, so no `://`."""
    return "://" in address


def is_workspace_file(address: str) -> bool:
    """Whether this is `<repository>/workspaces/…`: a file in the lake that others wrote, and may write again."""
    return address.split("/", 2)[1:2] == ["workspaces"]


def _safe(segment: str) -> str:
    escaped = _DOTS.get(segment) or _UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}", segment)
    cut = escaped.encode()[:SEGMENT_BYTES_MAX]
    if len(cut) == SEGMENT_BYTES_MAX:
        cut = _HALF_ESCAPE.sub(b"", cut)
    return cut.decode(errors="ignore")  # the cut may have gone through a letter


class BodySettings(NamedTuple):
    """How the files of bodies are named and marked: set by the lake's configuration, the same for all who write."""

    address_style: Style = "id"
    tag_paths: bool = False  # each file is tagged with its logical path, on stores that have tags


STANDARD = BodySettings()
