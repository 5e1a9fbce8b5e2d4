"""Events of multipart uploads. On somebody's disk.

An upload is open from its first event on, and what its parts name is live. It ends with the `staged` event that
completes it (`completes`), by which its parts become the blocks of one entry, or by being aborted.
"""

from typing import ClassVar

import msgspec

from lochan.formats.entry import Block
from lochan.formats.events import Event, Preparing


class UploadOpened(Event, frozen=True):
    type: ClassVar[str] = "upload-opened"

    id: str
    branch: str
    path: str
    content_type: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    metadata: dict[str, str] = msgspec.field(default_factory=dict)
    checksum: str = ""  # the algorithm of S3's additional checksum, if one is wanted
    checksum_type: str = ""  # FULL_OBJECT or COMPOSITE
    workspace: str = ""


class PartPut(Preparing, frozen=True):
    """A part of that number, instead of one that may have been put before."""

    type: ClassVar[str] = "part-put"

    upload: str
    number: int
    blocks: tuple[Block, ...]
    size: int
    etag: str
    checksums: dict[str, str] = msgspec.field(default_factory=dict)
    read_at: int = 0  # of a part copied from an object: the state it was read from
    checked: int = 0


class UploadAborted(Event, frozen=True):
    type: ClassVar[str] = "upload-aborted"

    upload: str
