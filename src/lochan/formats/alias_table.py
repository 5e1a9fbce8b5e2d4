"""A table of aliases: spans of files whose bytes are now read from another file. Stored on disk.

    <repository>/aliases/<SHA-256 of the file>-<mint, 20 digits>.parquet

Any Parquet reader sees a table of ALIAS_SCHEMA, sorted by address and offset; spans of one file do not overlap. The
file's own SHA-256 is in its name, so a table that is damaged or cut short is refused, and no wrong byte is read.
"""

import io
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from lochan.errors import Corrupt, FutureFormat

FOLDER = "aliases"
VERSION = 1
_HEAD = b"lochan.aliases"
_HINT = "restore the file from a backup; what it leads to cannot be read without it, and nothing was deleted"

ALIAS_SCHEMA = pa.schema(
    [
        pa.field("address", pa.string(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("target", pa.string(), nullable=False),  # the address of the file that holds the same bytes
        pa.field("target_offset", pa.int64(), nullable=False),
        # For a target that was written to hold one object, these are its size and SHA-256. Otherwise they are 0 and no
        # bytes.
        pa.field("target_size", pa.int64(), nullable=False),
        pa.field("target_sha256", pa.binary(), nullable=False),
    ]
)
_ORDER = [("address", "ascending"), ("offset", "ascending")]


class AliasTableGone(Corrupt):
    """The store does not have the alias table. The state that names it may be out of date."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the alias table {name} is gone", hint=_HINT)


class AliasRow(NamedTuple):
    address: str
    offset: int
    size: int
    target: str
    target_offset: int
    target_size: int = 0
    target_sha256: bytes = b""


class AliasHead(msgspec.Struct, frozen=True):
    """The head of an alias table: JSON in the file's footer. Fields may only be added."""

    format: int
    repository: str
    mint: int
    count: int


def encode(aliases: pa.Table, repository: str, mint: int) -> tuple[str, bytes]:
    """Returns the table's name below the repository, and its bytes."""
    head = AliasHead(VERSION, repository, mint, len(aliases))
    table = in_order(aliases).replace_schema_metadata({_HEAD: msgspec.json.encode(head)})
    sink = io.BytesIO()
    encoded = {"address": "DELTA_BYTE_ARRAY", "target": "DELTA_BYTE_ARRAY"}
    pq.write_table(table, sink, compression="zstd", column_encoding=encoded, use_dictionary=False)
    data = sink.getvalue()
    return f"{FOLDER}/{sha256(data).hexdigest()}-{mint:020d}.parquet", data


def decode(name: str, data: bytes, repository: str) -> pa.Table:
    """Returns the table's rows. Raises Corrupt or FutureFormat."""
    if f"/{sha256(data).hexdigest()}-" not in f"/{name.rpartition('/')[2]}":
        raise Corrupt(f"the alias table {name} fails its checksum", hint=_HINT)
    file = pq.ParquetFile(pa.BufferReader(data))
    head = msgspec.json.decode((file.schema_arrow.metadata or {})[_HEAD], type=AliasHead)
    if head.format > VERSION:
        raise FutureFormat(
            f"{name} has format version {head.format}; this Lochan reads up to {VERSION}", hint="upgrade Lochan"
        )
    if head.repository != repository:
        raise Corrupt(f"the alias table {name} is that of another repository", hint=_HINT)
    return file.read().cast(ALIAS_SCHEMA)


def table_of(rows: Iterable[AliasRow]) -> pa.Table:
    """Returns a table of ALIAS_SCHEMA, in the order of the rows."""
    columns: Iterable[Sequence[Any]] = list(zip(*rows, strict=True)) or [[] for _ in ALIAS_SCHEMA]
    arrays = [pa.array(each, field.type) for each, field in zip(columns, ALIAS_SCHEMA, strict=True)]
    return pa.table(arrays, ALIAS_SCHEMA)


def in_order(aliases: pa.Table) -> pa.Table:
    return aliases.select(ALIAS_SCHEMA.names).cast(ALIAS_SCHEMA).sort_by(_ORDER)
