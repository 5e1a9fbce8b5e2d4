"""The usage log: who read or wrote what, and when, and for which spans of time the log is complete. Stored on disk.

    _lake/usage/<yyyy-mm-dd>/<hhmmss.microseconds>-<process>.parquet   rows of a process that runs for long
    _lake/usage/<yyyy-mm-dd>/<hhmmss.microseconds>-<process>.json      a note: what one command is about to read
    _lake/usage/<yyyy-mm-dd>/all-<generation>.parquet                  the files of a day in one, which it names
    _lake/usage/open/<process>.json                                    a mark: the process may be reading at this moment
    _lake/usage/gaps/<process>-<microseconds>.json                     a span of which rows are missing
    _lake/usage/aged.json                                              up to when the log was deleted, by its age

Rows are Parquet files of USAGE_SCHEMA. The head in their footer has the spans of its process that a file covers: every
use of that time is a row of this file or an earlier one. Files of older versions have no head, and cover nothing.
Since version 2 rows also name the program and its address, and since version 3 the access key. A program that knows an
older version alone would lose these columns where it merges a day, so it does not read such files.
"""

import io
from collections.abc import Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lochan.errors import Corrupt, FutureFormat
from lochan.formats import json_file

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER: Final = "_lake/usage"
OPEN: Final = f"{FOLDER}/open"
GAPS: Final = f"{FOLDER}/gaps"
AGED: Final = f"{FOLDER}/aged.json"
ROWS, NOTE, ALL = ".parquet", ".json", "all-"
# Operations beside those of S3. A query has this name in a server's log too.
READ, READ_FOLDER, COPIED, COPIED_FOLDER, QUERY, SCAN = (
    "Read",
    "ReadFolder",
    "CopySource",
    "CopyFolder",
    "Query",
    "Scan",
)
SERVER: Final = "server"  # the kind of a process that others read through
VERSION = 1
ROWS_VERSION = 3  # the version of files of rows, and of notes
_HEAD = b"lochan.usage"
_SECOND = 1_000_000
_ADDED = ("client", "source", "about", "access_key")  # the last one since version 3, the others since version 2
_HINT = "reads of that time count as unknown; last-read rules wait until it is past"


class UsageRow(msgspec.Struct, frozen=True, gc=False):
    """A row of the usage log. The columns of the files are these fields, in their order. Values are only texts and
    numbers, so a row is in no reference cycle."""

    time: int  # microseconds since 1970
    user: str
    operation: str  # S3's name of the operation, or that of a verb; CopySource is the other end of a copy
    repository: str
    ref: str
    path: str
    bytes: int  # the size of the body that was received or sent
    status: int
    client: str = ""  # the interface or the program: s3, rest, mcp, cli …
    source: str = ""  # the address, or the machine, that it came from
    about: str = ""  # the other arguments of a call, by name
    access_key: str = ""  # the id of the access key that was used; empty if there was none


class Cover(msgspec.Struct, frozen=True):
    """The time span that one process covers, in microseconds since 1970 by its own clock."""

    process: str
    kind: str  # server, python, spark, shell or cli
    since: int
    until: int
    dropped: int = 0  # the number of lost rows of the span: it covers nothing if there are any


class UsageHead(msgspec.Struct, frozen=True):
    """The head of a file of rows: JSON in its footer. Fields may only be added."""

    format: int = ROWS_VERSION
    covers: tuple[Cover, ...] = ()
    replaces: tuple[str, ...] = ()  # the names of files of the same day whose rows are in this one


class Note(msgspec.Struct, frozen=True):
    """The uses that a command is about to make, written before it reads."""

    format: int
    process: str
    kind: str
    rows: tuple[UsageRow, ...]


class Mark(msgspec.Struct, frozen=True):
    """Shows that a process that notes its uses from time to time is open. The process renews the mark, and deletes it
    at its end."""

    format: int
    process: str
    kind: str
    since: int  # the beginning of the span that no file covers yet
    until: int  # the time up to which every use is in a file
    every_s: float  # how often the mark is renewed
    noted: bool = True  # whether it notes what it reads


class Gap(msgspec.Struct, frozen=True):
    format: int
    process: str
    since: int
    until: int
    why: str


class AgedLog(msgspec.Struct, frozen=True):
    format: int
    until: str  # the first day that still exists, yyyy-mm-dd


def day_of(micros: int) -> str:
    return f"{datetime.fromtimestamp(micros / _SECOND, UTC):%Y-%m-%d}"


def day_start(day: str) -> int:
    """Returns the start of the day in microseconds since 1970. Raises ValueError if the text is not a day."""
    return round(datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()) * _SECOND


def file_name(micros: int, process: str, suffix: str) -> str:
    moment = datetime.fromtimestamp(micros / _SECOND, UTC)
    return f"{FOLDER}/{moment:%Y-%m-%d}/{moment:%H%M%S.%f}-{process}{suffix}"


def encode_json(value: msgspec.Struct) -> bytes:
    return json_file.seal(value)


def decode_note(data: bytes, name: str) -> Note:
    """Returns the note. Raises Corrupt or FutureFormat."""
    return _decode(data, name, Note, ROWS_VERSION)


def decode_mark(data: bytes, name: str) -> Mark:
    return _decode(data, name, Mark)


def decode_gap(data: bytes, name: str) -> Gap:
    return _decode(data, name, Gap)


def decode_aged(data: bytes) -> AgedLog:
    return _decode(data, AGED, AgedLog)


def _decode(data: bytes, name: str, type: type[json_file.T], newest: int = VERSION) -> json_file.T:
    found = json_file.unseal(data, name, _HINT)
    if found.fields.get("format") not in (None, *range(1, newest + 1)):
        raise FutureFormat(f"{name} has format version {found.fields['format']}", hint="upgrade Lochan")
    return json_file.convert(found, type, name, _HINT)


# --- rows ------------------------------------------------------------------------------------------------------------
def schema() -> "pa.Schema":
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("time", pa.timestamp("us", "UTC"), nullable=False),
            *(pa.field(name, pa.string(), nullable=False) for name in ("user", "operation")),
            *(pa.field(name, pa.string(), nullable=False) for name in ("repository", "ref", "path")),
            pa.field("bytes", pa.int64(), nullable=False),
            pa.field("status", pa.int16(), nullable=False),
            *(pa.field(name, pa.string(), nullable=False) for name in _ADDED),
        ]
    )


def as_table(rows: Sequence[UsageRow]) -> "pa.Table":
    """Returns the rows as a table. The columns are made from their buffers: to convert a list, Arrow imports pandas
    where it is installed, which a server does not need otherwise."""
    import numpy as np
    import pyarrow as pa

    def texts(values: Sequence[str]) -> pa.Array:
        joined = "".join(values)
        lengths = map(len, values if joined.isascii() else map(str.encode, values))
        ends = np.zeros(len(values) + 1, np.int32)
        np.cumsum(np.fromiter(lengths, np.int32, len(values)), out=ends[1:])
        data = pa.py_buffer(joined.encode())
        return pa.Array.from_buffers(pa.string(), len(values), [None, pa.py_buffer(ends), data])

    def column(values: Sequence[Any], type: pa.DataType) -> pa.Array:
        if pa.types.is_string(type):
            return texts(values)
        numbers = np.array(values, np.dtype(f"i{type.byte_width}"))
        return pa.Array.from_buffers(type, len(values), [None, pa.py_buffer(numbers)])

    columns = [column(list(map(attrgetter(field.name), rows)), field.type) for field in schema()]
    return pa.Table.from_arrays(columns, schema=schema())


def encode_rows(rows: Sequence[UsageRow], head: UsageHead | None = None) -> bytes:
    """Returns the bytes of a file of rows. A full file takes about 20 ms, so a server does this in a thread."""
    return encode_table(as_table(rows), head or UsageHead())


def encode_table(table: "pa.Table", head: UsageHead) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({_HEAD: msgspec.json.encode(head)}), sink, compression="zstd")
    return bytes(sink.getvalue())


def decode_rows(data: bytes, name: str) -> tuple["pa.Table", UsageHead]:
    """Returns the rows and the head. Raises FutureFormat, or Corrupt for a file that is damaged or cut short."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(data))
        table = _with_all_columns(file.read()).select(schema().names).cast(schema())
        text = (file.schema_arrow.metadata or {}).get(_HEAD)
        head = msgspec.json.decode(text, type=UsageHead) if text else UsageHead()
    except (pa.ArrowException, OSError, KeyError, ValueError, msgspec.MsgspecError) as error:
        raise Corrupt(f"the usage file {name} cannot be read: {error}", hint=_HINT) from error
    if head.format > ROWS_VERSION:
        raise FutureFormat(f"{name} has format version {head.format}", hint="upgrade Lochan")
    return table, head


def _with_all_columns(table: "pa.Table") -> "pa.Table":
    """Adds the columns that rows of older versions do not have."""
    import pyarrow as pa

    for name in _ADDED:
        if name not in table.column_names:
            table = table.append_column(pa.field(name, pa.string(), nullable=False), pa.repeat("", len(table)))
    return table
