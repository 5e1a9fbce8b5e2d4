"""The list of a garbage collection's plan: which files are dead from the plan's number on. Stored on disk.

    <repository>/plans/<marked, 20 digits>-<SHA-256 of the file>.json       the head: which plan it is, and its parts
    <repository>/plans/<marked, 20 digits>-<SHA-256 of the file>.parquet    a part: files, sorted by path

Any Parquet reader sees a table of LIST_SCHEMA in each part. Parts follow each other in path order. The SHA-256 of each
file is in its name, and the head names its parts, so a list that is damaged, cut short or incomplete is never taken for
a list. Older lists are one Parquet file, whose footer holds the head.
"""

import io
from hashlib import sha256

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lochan.errors import Corrupt, FutureFormat

FOLDER = "plans"
VERSION = 2
_HEAD = b"lochan.plan"
_HINT = "nothing was deleted; restore the file"
_ROW_GROUP = 50_000

# Files as a listing shows them. The list of format 1 has no other columns.
PLAN_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),  # below the repository
        pa.field("kind", pa.string(), nullable=False),  # data, run, range, metarange, workspace or aliases
        pa.field("size", pa.int64(), nullable=False),
        pa.field("mint", pa.int64(), nullable=False),
        pa.field("modified", pa.timestamp("us", "UTC"), nullable=False),  # by the store's clock
    ]
)
LIST_SCHEMA = pa.schema(
    [
        *PLAN_SCHEMA,
        pa.field("why", pa.string(), nullable=False),  # the reason; see `DeadTotal`
        pa.field("prefix", pa.string()),  # the folder of the logical path; null if it is unknown
    ]
)


class DeadTotal(msgspec.Struct, frozen=True, array_like=True):
    """The total of dead files that have all of these in common. Fields are only ever added at the end."""

    kind: str
    why: str  # the reason why nothing names them; the words are in `versioning/collection/reasons.py`
    prefix: str | None  # None if the logical path is not known
    files: int
    bytes: int


class ListPart(msgspec.Struct, frozen=True, array_like=True):
    """A part of a list. Fields are only ever added at the end."""

    file: str  # the file, below the repository
    files: int
    bytes: int  # the size of the files that it lists
    first: str
    last: str


class PlanHead(msgspec.Struct, frozen=True):
    """The head of a list. Fields are only ever added."""

    format: int
    lake: str  # the lake's id
    repository: str
    cut: int
    marked: int
    files: int  # the number of all files of the repository, when they were listed
    bytes: int
    begun: int = 0
    dead_files: int = 0
    dead_bytes: int = 0
    parts: tuple[ListPart, ...] = ()
    totals: tuple[DeadTotal, ...] = ()  # the totals, the largest first


def encode_head(head: PlanHead) -> tuple[str, bytes]:
    """Returns the head's name below the repository, and its bytes."""
    data = msgspec.json.encode(head)
    return f"{FOLDER}/{head.marked:020d}-{sha256(data).hexdigest()}.json", data


def encode_part(marked: int, listed: pa.Table) -> tuple[ListPart, bytes]:
    """Returns the part and its bytes. REQUIRES: at least one row; paths ascend."""
    sink = io.BytesIO()
    listed = listed.cast(LIST_SCHEMA)
    pq.write_table(
        listed,
        sink,
        row_group_size=_ROW_GROUP,
        compression="zstd",
        column_encoding={"path": "DELTA_BYTE_ARRAY"},
        use_dictionary=["kind", "why", "prefix"],
        write_page_checksum=True,
    )
    data = sink.getvalue()
    file = f"{FOLDER}/{marked:020d}-{sha256(data).hexdigest()}.parquet"
    paths, size = listed["path"], pc.sum(listed["size"]).as_py()
    return ListPart(file, len(listed), size, paths[0].as_py(), paths[-1].as_py()), data


def decode_head(name: str, data: bytes) -> PlanHead:
    """Returns the head. Raises Corrupt or FutureFormat."""
    _check(name, data)
    if name.endswith(".json"):
        head = _head(name, data)
        if head.dead_files != sum(part.files for part in head.parts):
            raise Corrupt(f"the list {name} lacks some of its parts", hint=_HINT)
        return head
    file = pq.ParquetFile(pa.BufferReader(data))
    head = _head(name, (file.schema_arrow.metadata or {}).get(_HEAD, b""))
    listed = file.read()
    if not len(listed):
        return head
    paths, size = listed["path"], pc.sum(listed["size"]).as_py()
    part = ListPart(name, len(listed), size, paths[0].as_py(), paths[-1].as_py())
    return msgspec.structs.replace(head, dead_files=part.files, dead_bytes=size, parts=(part,))


def decode_part(part: ListPart, data: bytes) -> pa.Table:
    """Returns a table of LIST_SCHEMA. The files of an old list have no reasons. Raises Corrupt."""
    _check(part.file, data)
    table = pq.ParquetFile(pa.BufferReader(data)).read()
    if "why" not in table.column_names:
        table = table.append_column("why", pa.array([""] * len(table), pa.string()))
        table = table.append_column("prefix", pa.nulls(len(table), pa.string()))
    if len(table) != part.files:
        raise Corrupt(f"the list of files {part.file} has {len(table)} rows, not {part.files}", hint=_HINT)
    return table.replace_schema_metadata(None).cast(LIST_SCHEMA)


def _check(name: str, data: bytes) -> None:
    if name.rpartition("-")[2].partition(".")[0] != sha256(data).hexdigest():
        raise Corrupt(f"the list of files {name} fails its checksum", hint=_HINT)


def _head(name: str, data: bytes) -> PlanHead:
    try:
        head = msgspec.json.decode(data, type=PlanHead)
    except msgspec.MsgspecError as error:
        raise Corrupt(f"the list of files {name} has no head: {error}", hint=_HINT) from error
    if head.format > VERSION:
        raise FutureFormat(
            f"{name} has format version {head.format}; this Lochan reads up to {VERSION}", hint="upgrade Lochan"
        )
    return head
