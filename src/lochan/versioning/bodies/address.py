"""Addresses of the files of bodies. The names are stored on disk.

    <repository>/data/<mint, 20 digits>-<writer>/<id>                   address style `id`
    <repository>/data/<mint, 20 digits>-<writer>/<id>/<logical path>    address style `path`

The id alone makes an address unique. The logical path is there for bucket policies and lifecycle rules. It is escaped
so that every store accepts it, and shortened to fit. Nothing ever reads it back.
"""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from lochan.clock import Clock
from lochan.errors import Invalid
from lochan.ids import Ids

Style = Literal["id", "path"]

ADDRESS_BYTES_MAX = 768  # an S3 key may have 1,024; the rest is for the lake's own prefix
SEGMENT_BYTES_MAX = 255  # the limit of a local disk for the name of a file or folder

_KEPT_S = 60.0  # a writer uses one folder for at most so long
_KEPT_NUMBERS = 100_000  # and for at most so many records

_UNSAFE = re.compile(r"[\x00-\x1f\x7f%\\]|\.$")  # Azure takes a backslash for a slash, and drops a dot at the end
_DOTS = {"": "%", ".": "%2E", "..": "%2E%2E"}  # nothing else becomes a single %
_HALF_ESCAPE = re.compile(rb"%[0-9A-F]?$")


def no_plan() -> int:
    return 0


class Addresses:
    """Makes the addresses of one writer. Each call returns a new address. `last_plan` returns the number of the last
    plan of garbage collection that this process knows."""

    def __init__(
        self,
        repository: str,
        writer: str,
        clock: Clock,
        ids: Ids,
        style: Style = "id",
        last_plan: Callable[[], int] = no_plan,
    ) -> None:
        if style not in ("id", "path"):
            raise Invalid(f"{style!r} is not an address style", hint="choose id or path")
        self.style = style
        self._repository = repository
        self._writer = writer
        self._clock = clock
        self._ids = ids
        self._last_plan = last_plan
        self._mint = 0
        self._since = float("-inf")  # the time at which that number was read

    def new(self, path: str, mint: int, *, exact: bool = False) -> str:
        """Returns a new address. `mint` is the journal number that the writer had folded before the first byte. With
        `exact`, no older number is reused. A file that only a table names needs this: its number must not be older than
        the state that the table was made from, because the fold reads no tables and does not see that such a file is
        too old to be named (G3)."""
        name = self._ids.ksuid(self._clock.wall())
        address = f"{self._folder_of(mint) if exact else self._folder(mint)}/{name}"
        return with_path(address, path) if self.style == "path" else address

    def _folder(self, mint: int) -> str:
        """Returns the folder for this number, or the current folder, which has a number that was folded a while ago.
        That number too was folded before the first byte, and garbage collection only becomes more careful. A new folder
        costs a disk three more syncs than an existing one. A number from before the last plan is not reused: the next
        plan refuses it (G3), and then every retry would be refused like it."""
        if mint >= self._mint and not self._is_kept(mint):
            self._mint, self._since = mint, self._clock.boot()
        return self._folder_of(min(mint, self._mint))

    def _folder_of(self, mint: int) -> str:
        return f"{self._repository}/data/{mint:020d}-{self._writer}"

    def _is_kept(self, mint: int) -> bool:
        is_recent = self._since <= self._clock.boot() < self._since + _KEPT_S
        return is_recent and mint < self._mint + _KEPT_NUMBERS and self._mint >= self._last_plan()


def with_path(address: str, path: str) -> str:
    """Returns the address with as many of the path's first segments as fit, because rules match the beginning of a
    path."""
    for segment in path.split("/"):
        longer = f"{address}/{_safe(segment)}"
        if len(longer.encode()) > ADDRESS_BYTES_MAX:
            break
        address = longer
    return address


def is_outside(address: str) -> bool:
    """Returns whether this is the URL of a file outside the lake. Our own names have no empty segment, so no `://`."""
    return "://" in address


def is_workspace_file(address: str) -> bool:
    """Returns whether this is `<repository>/workspaces/…`: a file in the lake that others wrote, and may overwrite."""
    return address.split("/", 2)[1:2] == ["workspaces"]


def _safe(segment: str) -> str:
    escaped = _DOTS.get(segment) or _UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}", segment)
    cut = escaped.encode()[:SEGMENT_BYTES_MAX]
    if len(cut) == SEGMENT_BYTES_MAX:
        cut = _HALF_ESCAPE.sub(b"", cut)
    return cut.decode(errors="ignore")  # the cut may be inside a letter


class BodySettings(NamedTuple):
    """Names and tags of the files of bodies, from the lake's configuration."""

    address_style: Style = "id"
    tag_paths: bool = False  # whether each file is tagged with its logical path, on stores that have tags


STANDARD = BodySettings()
