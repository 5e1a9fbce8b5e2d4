"""A metarange: the list of a tree's ranges, in a Parquet file with a row for each. Stored on disk.

    metaranges/<id>-<mint>-<storage>.parquet

The id is a hash of the ranges' ids, in order; `storage` is one of all columns.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import repeat
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import astuple

from lochan.errors import Corrupt
from lochan.formats.range import RESTORE, SMALL_BYTES_MAX, SMALL_COMPRESSION, KeySpan, RangeRef, check_version

VERSION = 3  # written if a range is a patch; 2 if ranges have key spans, otherwise the same as 1
FOLDER = "metaranges"
SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("file", pa.string(), nullable=False),
        pa.field("min_path", pa.string(), nullable=False),
        pa.field("max_path", pa.string(), nullable=False),
        pa.field("count", pa.int64(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
    ]
)
# Further columns in a pool's metarange; null for a range without a key span.
KEYS = pa.schema([pa.field("key_min", pa.string()), pa.field("key_max", pa.string()), pa.field("keyless", pa.int64())])
_WITH_KEYS = pa.schema([*SCHEMA, *KEYS])
# A further column if some range is a patch; null for the others.
BASE = pa.field("base", pa.struct(list(SCHEMA)))
_WITH_BASES = pa.schema([*_WITH_KEYS, BASE])
_STORAGE_DIGITS = 16


class TreeRef(msgspec.Struct, frozen=True, array_like=True):
    """Names a tree in a commit. It is stored on disk; fields may only be added at the end."""

    id: str
    file: str  # the file, relative to the repository; "" for the empty tree, which has none


class EncodedTree(NamedTuple):
    ref: TreeRef
    data: bytes


def encode(ranges: Sequence[RangeRef], mint: int) -> EncodedTree:
    """Returns the tree's name and the bytes of its file. REQUIRES: at least one range."""
    ref = refer(ranges, mint)
    columns = [pa.array([getattr(each, field.name) for each in ranges], field.type) for field in SCHEMA]
    version, schema = _version(ranges), SCHEMA
    if version >= 2:
        rows = zip(*(astuple(each.keys) if each.keys else [None] * len(KEYS) for each in ranges), strict=True)
        columns += [pa.array(values, field.type) for values, field in zip(rows, KEYS, strict=True)]
        schema = _WITH_KEYS
    if version >= 3:
        bases = [
            None if each.base is None else dict(zip(SCHEMA.names, astuple(each.base), strict=False)) for each in ranges
        ]
        columns.append(pa.array(bases, BASE.type))
        schema = _WITH_BASES
    meta = {
        "lochan.metarange": str(version),
        "lochan.id": ref.id,
        "lochan.count": str(sum(each.count for each in ranges)),
    }
    sink = pa.BufferOutputStream()
    table = pa.table(columns, schema=schema.with_metadata(meta))
    pq.write_table(
        table,
        sink,
        compression=SMALL_COMPRESSION if table.nbytes <= SMALL_BYTES_MAX else "zstd",
        use_dictionary=False,
        write_page_checksum=True,
    )
    return EncodedTree(ref, sink.getvalue().to_pybytes())


def refer(ranges: Sequence[RangeRef], mint: int) -> TreeRef:
    id = tree_id(ranges)
    rows = [_row(each, _version(ranges)) for each in ranges]
    storage = sha256(b"lochan storage 1\n" + _encoder.encode(rows)).hexdigest()[:_STORAGE_DIGITS]
    return TreeRef(id, f"{FOLDER}/{id}-{mint}-{storage}.parquet")


def decode(data: bytes, ref: TreeRef, what: str) -> tuple[RangeRef, ...]:
    """Returns the ranges. Raises Corrupt or FutureFormat, naming `what`."""
    try:
        file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        check_version(file.schema_arrow.metadata, "lochan.metarange", VERSION, what)
        table = file.read(use_threads=False)
        table = table.cast({len(SCHEMA): SCHEMA, len(_WITH_KEYS): _WITH_KEYS}.get(table.num_columns, _WITH_BASES))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Corrupt(f"{what} cannot be read: {error}", hint=RESTORE) from error
    columns = [column.to_pylist() for column in table.columns]
    keys, bases = columns[len(SCHEMA) : len(_WITH_KEYS)], columns[len(_WITH_KEYS) :]
    ranges = tuple(map(RangeRef, *columns[: len(SCHEMA)], _keys(keys) or repeat(None), _bases(bases) or repeat(None)))
    mint = ref.file.split("-")[1]
    if refer(ranges, int(mint)) != ref:
        raise Corrupt(f"{what} does not match its name", hint=RESTORE)
    return ranges


def _version(ranges: Sequence[RangeRef]) -> int:
    if any(each.base is not None for each in ranges):
        return 3
    return 2 if any(each.keys is not None for each in ranges) else 1


def _row(each: RangeRef, version: int) -> tuple[Any, ...]:
    """Returns the values that the storage digest covers."""
    first = astuple(each)[: len(SCHEMA)]
    if version == 1:
        return first
    if version == 2:
        return (*first, each.keys)
    return (*first, each.keys, None if each.base is None else astuple(each.base)[: len(SCHEMA)])


def _keys(columns: Sequence[Sequence[Any]]) -> list[KeySpan | None]:
    return [None if row[0] is None else KeySpan(*row) for row in zip(*columns, strict=True)]


def _bases(columns: Sequence[Sequence[Any]]) -> list[RangeRef | None]:
    return [None if base is None else RangeRef(**base) for column in columns for base in column]


def with_bases(ranges: Iterable[RangeRef]) -> list[RangeRef]:
    """Returns the ranges, and those that some of them are patches of: all files that a tree needs besides its own."""
    own = list(ranges)
    return [*own, *dict.fromkeys(each.base for each in own if each.base is not None)]


def tree_id(ranges: Sequence[RangeRef]) -> str:
    """Returns the SHA-256 of a fixed text and the ranges' ids, 32 bytes each."""
    return sha256(b"lochan metarange 1\n" + b"".join(bytes.fromhex(each.id) for each in ranges)).hexdigest()


_encoder = msgspec.msgpack.Encoder()
EMPTY = TreeRef(tree_id(()), "")
