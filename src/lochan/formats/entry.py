"""An entry: what a repository knows about the object at one path. Stored in events, runs and ranges.

    entry ── blocks ── spans of bytes in files of the store

A path is opaque text, ordered by its UTF-8 bytes. An entry's *content* is everything except where the bytes are stored
and when they were written: uploading the same file twice is no change.
"""

import msgspec
import pyarrow as pa


# Entries are in no cycle, and there are very many of them: the garbage collector leaves them out (`gc=False`).
class Block(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A span of bytes in a file of the store."""

    address: str  # a path in the lake, or the URL of a file outside it; never reused, never overwritten
    offset: int
    size: int
    sha256: bytes


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    path: str
    blocks: tuple[Block, ...]
    size: int
    checksum: str  # MD5, 32 hex digits
    etag: str  # what S3 clients see: the MD5, or the MD5 of the parts' MD5s with -N
    mtime: int  # microseconds since 1970
    content_type: str = ""
    checksums: dict[str, str] = {}  # S3's additional checksums, by algorithm
    parts: tuple[int, ...] = ()  # sizes of the parts of a multipart upload
    headers: dict[str, str] = {}  # Cache-Control and similar headers, by lower-case name
    metadata: dict[str, str] = {}  # the user's own metadata


class Tombstone(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A tombstone: the path is deleted, whatever the layers below hold."""

    path: str


Change = Entry | Tombstone

# The name, among an entry's checksums, of the store's ETag of its file. It is there if other programs could have
# overwritten the file since.
STORE_ETAG = "STORE-ETAG"

_TEXTS = pa.map_(pa.string(), pa.string())

# The columns of a range; a run has `deleted` as well. Order, names and types are stored on disk.
ENTRY_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field(
            "blocks",
            pa.list_(
                pa.field(
                    "block",
                    pa.struct(
                        [
                            pa.field("address", pa.string(), nullable=False),
                            pa.field("offset", pa.int64(), nullable=False),
                            pa.field("size", pa.int64(), nullable=False),
                            pa.field("sha256", pa.binary(), nullable=False),
                        ]
                    ),
                    nullable=False,
                )
            ),
            nullable=False,
        ),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("checksum", pa.string(), nullable=False),
        pa.field("etag", pa.string(), nullable=False),
        pa.field("mtime", pa.int64(), nullable=False),
        pa.field("content_type", pa.string(), nullable=False),
        pa.field("checksums", _TEXTS, nullable=False),
        pa.field("parts", pa.list_(pa.int64()), nullable=False),
        pa.field("headers", _TEXTS, nullable=False),
        pa.field("metadata", _TEXTS, nullable=False),
    ]
)
RUN_SCHEMA = ENTRY_SCHEMA.append(pa.field("deleted", pa.bool_(), nullable=False))
# Two entries at one path are the same if these columns are. Where the bytes are stored and when they were written do
# not count. The ETag does: it is all that is known of some files outside the lake, and S3 clients compare it.
CONTENT = ("size", "checksum", "etag", "content_type", "headers", "metadata")
