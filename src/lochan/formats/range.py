"""A range: a sorted slice of a commit's entries, in a Parquet file of ENTRY_SCHEMA. Stored on disk.

    ranges/<id>-<mint>-<storage>.parquet

The id is a hash of the content: the paths and the columns in CONTENT. `storage` is a hash of the other columns: where
the bytes are stored and when they were written. Both hash values, not the file's bytes, so that another version of
Parquet gives the same name. Two files of one name hold the same values, so writing one twice does no harm.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lochan.errors import Corrupt, FutureFormat
from lochan.formats.entry import CONTENT, ENTRY_SCHEMA
from lochan.formats.entry_table import as_batch, as_table, counts, map_items, map_values

VERSION = 1
FOLDER = "ranges"
# Measured on a range of 50,000: see docs/formats/tree.md. Other readers skip row groups by their statistics.
ROW_GROUP: Final = 10_000
KEYLESS, MIN, MAX = "lochan-keyless", "lochan-min", "lochan-max"  # names of an entry's metadata
IDENTITY = ("path", *CONTENT)
_STORAGE = tuple(name for name in ENTRY_SCHEMA.names if name not in IDENTITY)
_STORAGE_DIGITS = 16
_BLOCK = "blocks.list.element."  # Parquet's name for the elements of a list
WRITING: Final[dict[str, Any]] = {
    "compression": "zstd",
    "use_dictionary": ["content_type"],
    "column_encoding": {
        "path": "DELTA_BYTE_ARRAY",
        "checksum": "DELTA_LENGTH_BYTE_ARRAY",
        "etag": "DELTA_LENGTH_BYTE_ARRAY",
        "mtime": "DELTA_BINARY_PACKED",
        f"{_BLOCK}address": "DELTA_BYTE_ARRAY",
        f"{_BLOCK}offset": "DELTA_BINARY_PACKED",
        f"{_BLOCK}sha256": "DELTA_LENGTH_BYTE_ARRAY",
    },
    "write_statistics": ["path", "size", "mtime", "content_type"],
    "write_page_checksum": True,
}

# For each column zstd makes a context, which takes longer than everything else in a small file.
SMALL_COMPRESSION, SMALL_BYTES_MAX = "snappy", 64 << 10
Entries: TypeAlias = pa.Table | pa.RecordBatch  # of ENTRY_SCHEMA; how a table is split into chunks makes no difference


class KeySpan(msgspec.Struct, frozen=True, array_like=True):
    """The span of keys of a range's data objects, as stored in a metarange, so that a plan opens only the ranges it
    needs. Each object's entry has its own span in its metadata (`pools/facts.py`). The range's span follows from these,
    so a tree's id does not depend on it.

    Both ends are hex digits of the ordered form, which compare as the keys do. They are empty if no row has the key."""

    least: str
    greatest: str
    keyless: int  # the number of rows without the key


class RangeRef(msgspec.Struct, frozen=True, array_like=True):
    """Names a range in a metarange. The fields are the metarange's columns, in order."""

    id: str
    file: str  # the file, relative to the repository
    min_path: str
    max_path: str
    count: int
    bytes: int  # the size of the objects, not of the file
    keys: KeySpan | None = None  # None in repositories of files, and in old metaranges
    base: "RangeRef | None" = None  # the file is a patch of this range (`formats/patch.py`)


class UnfinishedRange(NamedTuple):
    """A file whose rows are written but whose footer is not, because the id may still have to be computed."""

    writer: pq.ParquetWriter
    sink: pa.BufferOutputStream


def encode(entries: Entries, id: str) -> bytes:
    """Returns the bytes of the range. REQUIRES what `refer` requires."""
    return finish(begin(entries), id)


def begin(entries: Entries) -> UnfinishedRange:
    """Writes the rows of the range, without the footer. REQUIRES what `refer` requires."""
    paths = entries.column("path")
    meta = {
        "lochan.range": str(VERSION),
        "lochan.count": str(entries.num_rows),
        "lochan.min": paths[0].as_py(),
        "lochan.max": paths[-1].as_py(),
    }
    table = as_table(entries).replace_schema_metadata(meta)
    sink = pa.BufferOutputStream()
    writing = {**WRITING, "compression": SMALL_COMPRESSION} if table.nbytes <= SMALL_BYTES_MAX else WRITING
    writer = pq.ParquetWriter(sink, table.schema, **writing)
    for start in range(
        0, len(table), ROW_GROUP
    ):  # each in one piece, so that the file does not depend on the table's chunks
        writer.write_batch(as_batch(table.slice(start, ROW_GROUP)), row_group_size=ROW_GROUP)
    return UnfinishedRange(writer, sink)


def finish(begun: UnfinishedRange, id: str) -> bytes:
    begun.writer.add_key_value_metadata({"lochan.id": id})
    begun.writer.close()
    data: bytes = begun.sink.getvalue().to_pybytes()
    return data


def refer(entries: Entries, mint: int, id: str) -> RangeRef:
    """Returns the reference that names the range. REQUIRES: at least one entry; paths ascend; the names in each map
    ascend; `id` is their `content_id`."""
    paths = entries.column("path")
    return RangeRef(
        id,
        f"{FOLDER}/{id}-{mint}-{storage_id(entries)}.parquet",
        paths[0].as_py(),
        paths[-1].as_py(),
        entries.num_rows,
        pc.sum(entries.column("size")).as_py(),
        key_span(entries),
    )


def decode(data: bytes, ref: RangeRef, what: str) -> pa.RecordBatch:
    """Returns the entries as they were written. Raises Corrupt or FutureFormat, naming `what`."""
    batch = _read(data, what)
    mint = ref.file.split("-")[1]
    found = refer(batch, int(mint), content_id(batch)) if batch.num_rows else None
    if found is not None and ref.keys is None:
        found = msgspec.structs.replace(found, keys=None)
    if found != ref:
        raise Corrupt(f"{what} does not match its name and its tree: it holds {found}, not {ref}", hint=RESTORE)
    return batch


def content_id(entries: Entries) -> str:
    return digest_of(b"lochan range 1", as_table(entries), IDENTITY)


def storage_id(entries: Entries) -> str:
    return digest_of(b"lochan storage 1", as_table(entries), _STORAGE)[:_STORAGE_DIGITS]


def _read(data: bytes, what: str) -> pa.RecordBatch:
    try:
        file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        check_version(file.schema_arrow.metadata, "lochan.range", VERSION, what)
        batch = as_batch(file.read(use_threads=False))
        if not batch.schema.equals(ENTRY_SCHEMA):
            batch = as_batch(pa.Table.from_batches([batch]).cast(ENTRY_SCHEMA))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Corrupt(f"{what} cannot be read: {error}", hint=RESTORE) from error
    return batch.replace_schema_metadata(None)


def check_version(meta: dict[bytes, bytes] | None, key: str, newest: int, what: str) -> None:
    found = (meta or {}).get(key.encode())
    if found is None or not found.isdigit():
        raise Corrupt(f"{what} has no format version: another file is in its place", hint=RESTORE)
    if int(found) > newest:
        raise FutureFormat(
            f"{what} has format version {int(found)}; this Lochan reads up to {newest}",
            hint="upgrade Lochan to read it",
        )


# --- the digest of columns; stored on disk: never changes --------------------------------------------------------
def digest_of(domain: bytes, table: pa.Table, names: tuple[str, ...]) -> str:
    """Returns the SHA-256 of the domain, the number of rows, and each column (see `_feed`). All numbers are
    little-endian."""
    digest = sha256(domain + b"\n" + table.num_rows.to_bytes(8, "little"))
    for name in names:
        _feed(digest, table.column(name).chunks)
    return digest.hexdigest()


def _feed(digest: Any, column: Sequence[pa.Array]) -> None:
    """Adds a column to the digest. Numbers: eight bytes each. Texts: their lengths, four bytes each, then all of them
    end to end. Lists and maps: the lengths, then their items as columns. A struct: its fields as columns. No two
    columns have the same bytes."""
    if not column:
        return
    kind = column[0].type
    if pa.types.is_int64(kind):
        for part in column:
            digest.update(np.ascontiguousarray(part.to_numpy(), "<i8"))
    elif pa.types.is_struct(kind):
        for index in range(kind.num_fields):
            _feed(digest, [part.field(index) for part in column])
    elif pa.types.is_map(kind):
        _feed_lengths(digest, column)
        for items in zip(*map(map_items, column), strict=True):
            _feed(digest, items)
    elif pa.types.is_list(kind):
        _feed_lengths(digest, column)
        _feed(digest, [part.flatten() for part in column])
    else:
        _feed_texts(digest, [part for part in column if len(part)])


def _feed_lengths(digest: Any, lists: Sequence[pa.Array]) -> None:
    for part in lists:
        digest.update(np.ascontiguousarray(counts(part), "<u4"))


def _feed_texts(digest: Any, column: Sequence[pa.Array]) -> None:
    parts = []
    for part in column:
        _, offsets, data = part.buffers()
        ends = np.frombuffer(offsets, np.int32)[part.offset : part.offset + len(part) + 1]
        digest.update(np.ascontiguousarray(np.diff(ends), "<u4"))
        if data is not None:
            parts.append(memoryview(data)[ends[0] : ends[-1]])
    for texts in parts:
        digest.update(texts)


RESTORE = "restore this file from a copy of the lake; nothing was changed"


def key_span(entries: pa.Table | pa.RecordBatch) -> KeySpan | None:
    """Returns the span of all keys, or None if some entries are not data objects."""
    metadata = as_table(entries)["metadata"]
    if not _is_object(metadata.chunk(0)):
        return None  # a repository of files
    least, greatest, keyless = ([map_values(part, name) for part in metadata.chunks] for name in (MIN, MAX, KEYLESS))
    if any(part.null_count for part in (*least, *greatest, *keyless)):
        return None
    return KeySpan(
        _most(least, "min"), _most(greatest, "max"), sum(pc.sum(part.cast(pa.int64())).as_py() for part in keyless)
    )


def _is_object(metadata: pa.MapArray) -> bool:
    return len(metadata) > 0 and any(name == MIN for name, _ in metadata[0].as_py())


def _most(parts: list[pa.Array], which: str) -> str:
    """Returns the least or greatest text. Objects without a row that has the key have an empty text, which is
    ignored."""
    texts = pa.chunked_array(parts, pa.string())
    found: str | None = pc.min_max(texts.filter(pc.not_equal(texts, "")))[which].as_py()
    return found or ""
