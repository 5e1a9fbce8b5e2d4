"""The list of a garbage collection's plan: which files are dead from the plan's number on. On somebody's disk.

    <repository>/plans/<marked, 20 digits>-<SHA-256 of the file>.parquet

Any Parquet reader sees a table of PLAN_SCHEMA, sorted by path. The head in the footer says which plan it is. The file's
own SHA-256 is its name, so a list that is damaged or cut short is never taken for a list.
"""

import io
from hashlib import sha256

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from lochan.errors import Corrupt, FutureFormat

FOLDER = "plans"
VERSION = 1
_HEAD = b"lochan.plan"

PLAN_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),  # below the repository
        pa.field("kind", pa.string(), nullable=False),  # data, run, range, metarange, workspace, aliases
        pa.field("size", pa.int64(), nullable=False),
        pa.field("mint", pa.int64(), nullable=False),
        pa.field("modified", pa.timestamp("us", "UTC"), nullable=False),  # by the store's clock
    ]
)


class PlanHead(msgspec.Struct, frozen=True):
    """As JSON in the footer; fields are only ever added."""

    format: int
    lake: str  # the lake's id
    repository: str
    cut: int
    marked: int
    files: int  # that the repository had in all, when they were listed
    bytes: int


def encode(head: PlanHead, listed: pa.Table) -> tuple[str, bytes]:
    """The name below the repository, and the bytes."""
    sink = io.BytesIO()
    table = listed.cast(PLAN_SCHEMA).replace_schema_metadata({_HEAD: msgspec.json.encode(head)})
    pq.write_table(
        table, sink, compression="zstd", column_encoding={"path": "DELTA_BYTE_ARRAY"}, use_dictionary=["kind"]
    )
    data = sink.getvalue()
    return f"{FOLDER}/{head.marked:020d}-{sha256(data).hexdigest()}.parquet", data


def decode(name: str, data: bytes) -> tuple[PlanHead, pa.Table]:
    """Raises Corrupt or FutureFormat."""
    if f"-{sha256(data).hexdigest()}.parquet" not in name:
        raise Corrupt(f"the list of files {name} fails its checksum", hint="nothing was deleted; restore the file")
    file = pq.ParquetFile(pa.BufferReader(data))
    head = msgspec.json.decode((file.schema_arrow.metadata or {})[_HEAD], type=PlanHead)
    if head.format > VERSION:
        raise FutureFormat(
            f"{name} has format version {head.format}; this Lochan reads up to {VERSION}", hint="upgrade Lochan"
        )
    return head, file.read().cast(PLAN_SCHEMA)
