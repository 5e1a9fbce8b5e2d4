"""Inventories: lists of a bucket's files made by other programs, decoded to tables of keys, sizes, ETags and times.

    S3 Inventory     manifest.json names the bucket, the columns, and the parts with their sizes and MD5s; a part is
                     CSV (packed, without a header, keys URL-encoded), Parquet or ORC
    a plain list     one file of CSV with a header, NDJSON or Parquet, packed or not, with the columns
                     url or path, size, etag, mtime

An inventory that contradicts itself is not used at all; the error names what is wrong.
"""

import csv
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import unquote_plus

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from lochan.errors import Invalid

BATCH_ROWS = 1 << 16
CSV, ORC, PARQUET, NDJSON = "CSV", "ORC", "Parquet", "NDJSON"
S3_FORMATS = (CSV, ORC, PARQUET)

# The columns that are read from a part. `key` is the object's key, or the text of a plain list's column `url` or
# `path`.
PART_SCHEMA = pa.schema(
    [
        pa.field("bucket", pa.string()),
        pa.field("key", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("etag", pa.string()),
        pa.field("mtime", pa.int64()),
    ]
)
# The names of columns: manifests and CSV use the first one, ORC and Parquet the second.
_NAMES = {
    "bucket": "bucket",
    "key": "key",
    "url": "url",
    "path": "path",
    "size": "size",
    "etag": "etag",
    "e_tag": "etag",
    "lastmodifieddate": "mtime",
    "last_modified_date": "mtime",
    "last_modified": "mtime",
    "mtime": "mtime",
    "islatest": "latest",
    "is_latest": "latest",
    "isdeletemarker": "marker",
    "is_delete_marker": "marker",
}
_BLOCK_BYTES = 4 << 20
_HEADER_BYTES = 1 << 14
_LETTERS = 1 << 15  # letters that are processed together, so that intermediate arrays stay in the processor's cache
_QUOTE = ord('"')
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?")
_MD5 = re.compile(r"[0-9a-fA-F]{32}")


class ManifestFile(msgspec.Struct, frozen=True):
    key: str
    size: int
    md5: str = msgspec.field(name="MD5checksum")


class Manifest(msgspec.Struct, frozen=True, rename="camel"):
    """The manifest of an S3 Inventory, as S3 writes it."""

    source_bucket: str
    destination_bucket: str  # an ARN
    file_format: str
    file_schema: str
    files: tuple[ManifestFile, ...]
    version: str = ""
    creation_timestamp: str = ""

    @property
    def bucket(self) -> str:
        """Returns the bucket where the parts are."""
        return self.destination_bucket.rpartition(":")[2]


class PartFormat(NamedTuple):
    format: str
    columns: tuple[str, ...] = ()  # the columns of CSV without a header; empty if the file names them itself
    encoded: bool = False  # whether keys are URL-encoded
    packed: bool = False


def parse_manifest(data: bytes, what: str) -> Manifest:
    """Returns the manifest. Raises Invalid if it is malformed, lists a part twice, or lists none."""
    try:
        found = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Invalid(f"{what} is no manifest of an S3 Inventory: {error}", hint=_MANIFEST) from error
    if found.file_format not in S3_FORMATS:
        raise Invalid(f"{what}: {found.file_format!r} is no format of an S3 Inventory", hint=", ".join(S3_FORMATS))
    wrong = next((file for file in found.files if not _MD5.fullmatch(file.md5) or file.size < 0), None)
    if wrong is not None:
        raise Invalid(f"{what}: the part {wrong.key!r} has no size or MD5 that makes sense", hint=_MANIFEST)
    if len({file.key for file in found.files}) < len(found.files):
        raise Invalid(f"{what} names a part twice", hint=_MANIFEST)
    if not found.files:
        raise Invalid(f"{what} names no parts", hint="the inventory is empty")
    return found


def part_format(manifest: Manifest) -> PartFormat:
    columns = tuple(name.strip() for name in manifest.file_schema.split(","))
    is_csv = manifest.file_format == CSV
    return PartFormat(manifest.file_format, columns if is_csv else (), is_csv, is_csv)


def plain_format(name: str, head: bytes) -> PartFormat:
    """Finds the format of a plain list by its name and its first bytes, unpacked. Raises Invalid."""
    packed = head[:2] == b"\x1f\x8b"
    bare = name.lower().removesuffix(".gz")
    if head[:4] == b"PAR1":
        return PartFormat(PARQUET)
    if head[:3] == b"ORC":
        return PartFormat(ORC)
    for ending, format in ((".csv", CSV), (".ndjson", NDJSON), (".jsonl", NDJSON), (".json", NDJSON)):
        if bare.endswith(ending):
            return PartFormat(format, packed=packed)
    raise Invalid(f"{name}: this is no inventory that is known", hint="give manifest.json, .csv, .ndjson or .parquet")


def files_in(open: Callable[[], pa.NativeFile], form: PartFormat, what: str) -> Iterator[pa.Table]:
    """Yields the files that a part lists, as tables of PART_SCHEMA, without older versions and delete markers. Raises
    Invalid. `open` opens the part at its beginning, and may be called again."""
    try:
        for batch in _batches(open, form):
            yield _files(batch, form, what)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # ArrowInvalid is a ValueError too
        text = str(error).partition("\n")[0]
        raise Invalid(f"{what} cannot be read: {text}", hint="it is truncated, damaged or of another format") from error


def _batches(open: Callable[[], pa.NativeFile], form: PartFormat) -> Iterator[pa.RecordBatch]:
    if form.format == PARQUET:
        yield from pq.ParquetFile(open()).iter_batches(batch_size=BATCH_ROWS)
        return
    if form.format == ORC:
        from pyarrow import orc

        file = orc.ORCFile(open())
        for stripe in range(file.nstripes):
            yield from pa.Table.from_batches([file.read_stripe(stripe)]).to_batches(BATCH_ROWS)
        return
    stream = _open_unpacked(open, form)
    if form.format == NDJSON:
        read = pyarrow.json.ReadOptions(block_size=_BLOCK_BYTES)
        yield from pyarrow.json.open_json(stream, read_options=read)
        return
    columns = form.columns or _header(_open_unpacked(open, form))
    read = pyarrow.csv.ReadOptions(
        column_names=list(columns), skip_rows=0 if form.columns else 1, block_size=_BLOCK_BYTES
    )
    # Every column is read as text: no type is guessed from the first rows, so an ETag of digits stays a text.
    texts = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=False)
    yield from pyarrow.csv.open_csv(stream, read_options=read, convert_options=texts)


def _open_unpacked(open: Callable[[], pa.NativeFile], form: PartFormat) -> pa.NativeFile:
    return pa.CompressedInputStream(open(), "gzip") if form.packed else open()


def _header(stream: pa.NativeFile) -> tuple[str, ...]:
    line = stream.read(_HEADER_BYTES).partition(b"\n")[0]
    return tuple(next(csv.reader([line.decode("utf-8-sig").strip()]), []))


def _files(batch: pa.RecordBatch, form: PartFormat, what: str) -> pa.Table:
    found = {
        known: batch.column(at) for at, name in enumerate(batch.schema.names) if (known := _NAMES.get(name.lower()))
    }
    key = next((found[name] for name in ("key", "url", "path") if name in found), None)
    if key is None or "size" not in found or "etag" not in found:
        raise Invalid(
            f"{what} lacks a column: it has {', '.join(batch.schema.names)}",
            hint="an inventory needs the columns Bucket, Key, Size, LastModifiedDate and ETag; "
            "a plain list url or path, size, etag and mtime",
        )
    if "latest" in found or "marker" in found:
        kept = _current(found, batch.num_rows)
        key, found = key.filter(kept), {name: column.filter(kept) for name, column in found.items()}
    size = _numbers(found["size"], what, "size")
    key = key.cast(pa.string())
    if key.null_count or size.null_count or (pc.min(size).as_py() or 0) < 0:
        raise Invalid(f"{what} lists an object without a key, or without a size", hint=_LIES)
    etag = unquote_etags(found["etag"].cast(pa.string()))
    if etag.null_count or (pc.min(pc.binary_length(etag)).as_py() == 0):
        raise Invalid(f"{what} lists an object without an ETag", hint=_LIES)
    count = len(key)
    columns = [
        found["bucket"].cast(pa.string()) if "bucket" in found else pa.nulls(count, pa.string()),
        _decode_keys(key, what) if form.encoded else key,
        size,
        etag,
        _times(found["mtime"], what) if "mtime" in found else pa.array([0] * count, pa.int64()),
    ]
    return pa.table(columns, schema=PART_SCHEMA)


def unquote_etags(etags: pa.StringArray) -> pa.StringArray:
    """Removes the quotes that HTTP puts around ETags. Most lists have none, and looking for a quote takes a tenth of
    the time of trimming every text."""
    _, offsets, data = etags.buffers()
    if data is None or not len(etags):
        return etags
    ends = np.frombuffer(offsets, np.int32)[etags.offset : etags.offset + len(etags) + 1]
    letters = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    if any((letters[at : at + _LETTERS] == _QUOTE).any() for at in range(0, len(letters), _LETTERS)):
        return pc.utf8_trim(etags, '"')
    return etags


def _current(found: dict[str, pa.Array], count: int) -> pa.Array:
    """Returns a mask of the rows that are the newest version of an object that still exists."""
    kept = pa.repeat(pa.scalar(True), count)
    if "latest" in found:
        kept = pc.and_(kept, _truth(found["latest"], default=True))
    if "marker" in found:
        kept = pc.and_(kept, pc.invert(_truth(found["marker"], default=False)))
    return kept


def _truth(column: pa.Array, *, default: bool) -> pa.Array:
    if pa.types.is_boolean(column.type):
        return pc.fill_null(column, default)
    texts = pc.utf8_lower(column.cast(pa.string()))
    return pc.if_else(pc.fill_null(pc.equal(texts, ""), True), default, pc.fill_null(pc.equal(texts, "true"), False))


def _numbers(column: pa.Array, what: str, name: str) -> pa.Array:
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise Invalid(f"{what}: a {name} is no whole number: {error}", hint=_LIES) from error


def _decode_keys(keys: pa.Array, what: str) -> pa.Array:
    """Decodes URL-encoded keys. If no key of the batch has an escape, the keys are returned as they are. Raises Invalid
    for an escape that is not UTF-8."""
    if not pc.any(pc.match_substring_regex(keys, "[%+]")).as_py():
        return keys
    try:
        return pa.array([unquote_plus(key, errors="strict") for key in keys.to_pylist()], pa.string())
    except UnicodeDecodeError as error:
        raise Invalid(f"{what}: a key is not valid UTF-8: {error}", hint="rename that object, or list it") from error


def _times(column: pa.Array, what: str) -> pa.Array:
    """Returns microseconds since 1970. Whole numbers are taken to be microseconds already."""
    if pa.types.is_integer(column.type):
        return pc.fill_null(column.cast(pa.int64()), 0)
    if pa.types.is_timestamp(column.type):
        return pc.fill_null(column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64()), 0)
    texts = pc.fill_null(column.cast(pa.string()), "")
    distinct = pc.dictionary_encode(texts) if not isinstance(texts, pa.DictionaryArray) else texts
    moments = pa.array([_microseconds(text, what) for text in distinct.dictionary.to_pylist()], pa.int64())
    return moments.take(distinct.indices)


def _microseconds(text: str, what: str) -> int:
    if not text:
        return 0
    if text.isdigit():
        return int(text)
    if not _TIME.fullmatch(text):
        raise Invalid(f"{what}: {text!r} is no time", hint="write times as 2026-11-17T02:00:00Z")
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1e6)


_MANIFEST = "give the manifest.json that S3 wrote beside the parts"
_LIES = "nothing was imported; make the inventory again, or import without it"
