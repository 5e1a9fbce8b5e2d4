"""A run: a sorted Parquet file of uncommitted changes, entries and tombstones. Stored on disk.

Any Parquet reader sees a table of RUN_SCHEMA. The footer has what is needed before reading the columns: count, first
and last path, and a bloom filter. Two SHA-256 in the footer cover every byte. Parquet's own page checksums leave out
page headers and the footer, where one flipped bit can swap two columns without an error."""

import io
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import NamedTuple, cast

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lochan.errors import Corrupt, FutureFormat, Invalid
from lochan.formats import bloom
from lochan.formats.entry import ENTRY_SCHEMA, RUN_SCHEMA, Block, Change, Entry, Tombstone

VERSION = 1
ROW_GROUP = 1 << 16  # the most rows of a group, because a writer keeps one in memory; readers accept any size
_HEAD, _BLOOM, _BODY, _FOOTER = b"lochan.run", b"lochan.run.bloom", b"lochan.run.body", b"lochan.run.footer"
_FOOTER_LENGTH_BYTES = 8  # the last bytes of a Parquet file: length of the footer, magic
_UNKNOWN = b"0" * 64  # the placeholder of a SHA-256, also of the footer's own while it is computed


class RunRef(msgspec.Struct, frozen=True, array_like=True):
    """Names a run in events and checkpoints. It is stored on disk; fields may only be added at the end."""

    id: str
    file: str  # the file, relative to the repository
    level: int  # 1 if it was staged or flushed, and may overlap others; 2 if it was compacted
    count: int
    tombstones: int
    bytes: int  # the size of the file
    min_path: str
    max_path: str
    mint: int  # the journal number that its writer had folded before the first byte (rule G1)
    # In a state, whether some of its changes are in no event, but only in this file. In an event it has no meaning.
    primary: bool = False


class RunHead(msgspec.Struct, frozen=True):
    """The head in a run's footer, as JSON; fields may only be added."""

    format: int
    count: int
    tombstones: int
    min: str
    max: str


class Summary(NamedTuple):
    head: RunHead
    bloom: bytes
    body: bytes  # the SHA-256, in hex, of everything before the footer

    def may_hold(self, path: str, hashed: int) -> bool:
        return self.head.min <= path <= self.head.max and bloom.may_hold(self.bloom, hashed)


def encode(changes: pa.Table) -> bytes:
    """Returns the bytes of a run. REQUIRES: at least one change; paths sorted by their bytes, none twice. Raises
    Invalid."""
    encoder = Encoder()
    encoder.add(changes)
    return encoder.finish()


class Encoder:
    """Encodes consecutive tables as one run. Keeps the file's bytes in memory, and a number for each path."""

    def __init__(self) -> None:
        self.count = 0
        self._tombstones = 0
        self._first = self._last = ""
        self._hashes: list[bloom.Hashes] = []
        self._sink = io.BytesIO()
        self._writer = pq.ParquetWriter(
            self._sink,
            RUN_SCHEMA,
            compression="zstd",
            use_dictionary=["content_type"],
            column_encoding={"path": "DELTA_BYTE_ARRAY", "blocks.list.element.address": "DELTA_BYTE_ARRAY"},
            write_statistics=["path"],
        )

    def add(self, changes: pa.Table) -> None:
        """Adds a table. REQUIRES: at least one change; paths sorted by their bytes, none twice, all after the earlier
        ones. Raises Invalid."""
        changes = check(changes)
        paths = column(changes, "path")
        first = paths[0].as_py()
        if self.count and first <= self._last:
            raise Invalid(f"the changes after {self._last!r} do not follow it in path order")
        self._first, self._last = self._first if self.count else first, paths[-1].as_py()
        self.count += len(changes)
        self._tombstones += tombstones(changes)
        self._hashes.append(bloom.hash_all(paths))
        self._writer.write_table(changes, row_group_size=ROW_GROUP)

    def finish(self) -> bytes:
        """Returns the bytes of the run. REQUIRES: something was added."""
        head = RunHead(VERSION, self.count, self._tombstones, self._first, self._last)
        filter = b64encode(bloom.build(np.concatenate(self._hashes)))
        # The footer's checksum must come last: it is searched from the end of the file.
        self._writer.add_key_value_metadata(
            {_HEAD: msgspec.json.encode(head), _BLOOM: filter, _BODY: _UNKNOWN, _FOOTER: _UNKNOWN}
        )
        self._writer.close()
        return _with_sums(self._sink)


def decode(data: bytes | pa.Buffer, what: str) -> pa.Table:
    """Returns the changes, with every column in one chunk. Raises Corrupt or FutureFormat, naming `what`."""
    head_stated = check_sums(data, what)
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        table = check(file.read(use_threads=False).cast(RUN_SCHEMA))  # a single chunk for all row groups
    except (pa.ArrowException, OSError, ValueError, Invalid) as error:
        raise _corrupt_error(what, error) from error
    paths = column(table, "path")
    found = RunHead(head_stated.format, len(table), tombstones(table), paths[0].as_py(), paths[-1].as_py())
    if found != head_stated:
        raise Corrupt(f"{what} does not match its footer: it holds {found}, not {head_stated}", hint=_RESTORE)
    return table


def check_sums(data: bytes | pa.Buffer, what: str) -> RunHead:
    """Returns the head if every byte of the file is as it was written. Raises Corrupt or FutureFormat."""
    stated, _, body = head(data, what)
    if sha256(memoryview(data)[: -footer_bytes(data)]).hexdigest().encode() != body:
        raise Corrupt(f"{what} fails its checksum", hint=_RESTORE)
    return stated


def decode_groups(data: bytes | pa.Buffer, what: str) -> Iterator[pa.Table]:
    """Yields the changes one row group at a time, for a reader that passes once: the same memory is used again and
    again, where a million rows at once would need fresh pages. REQUIRES: `check_sums` has passed. Raises Corrupt, at
    the end if the rows do not match the footer."""
    stated = head(data, what).head
    count = dead = 0
    first = last = ""
    file = pq.ParquetFile(pa.BufferReader(data))
    for number in range(file.num_row_groups):
        try:
            table = check(file.read_row_group(number, use_threads=False).cast(RUN_SCHEMA))
        except (pa.ArrowException, OSError, ValueError, Invalid) as error:
            raise _corrupt_error(what, error) from error
        paths = column(table, "path")
        least, greatest = paths[0].as_py(), paths[-1].as_py()
        if count and least <= last:
            raise Corrupt(f"{what} is not in path order", hint=_RESTORE)
        first, last = first if count else least, greatest
        count, dead = count + len(table), dead + tombstones(table)
        yield table
    found = RunHead(stated.format, count, dead, first, last)
    if found != stated:
        raise Corrupt(f"{what} does not match its footer: it holds {found}, not {stated}", hint=_RESTORE)


def head(data: bytes | pa.Buffer, what: str) -> Summary:
    """Reads the footer. `data` is the file, or any end of it that contains the footer. Raises Corrupt or
    FutureFormat."""
    try:
        metadata = pq.read_metadata(pa.BufferReader(data)).metadata or {}
    except (pa.ArrowException, OSError, ValueError) as error:  # ValueError: text that is not UTF-8
        raise _corrupt_error(what, error) from error
    if not {_HEAD, _BLOOM, _BODY, _FOOTER} <= metadata.keys():
        raise Corrupt(f"{what} is not a run: its footer lacks the head of one", hint=_RESTORE)
    if _sum_of_footer(memoryview(data)[-footer_bytes(data) :].tobytes(), metadata[_FOOTER]) != metadata[_FOOTER]:
        raise Corrupt(f"the footer of {what} fails its checksum", hint=_RESTORE)
    version = msgspec.json.decode(metadata[_HEAD])["format"]
    if version > VERSION:
        raise FutureFormat(
            f"{what} has format version {version}; this Lochan reads up to {VERSION}", hint="upgrade Lochan to read it"
        )
    return Summary(msgspec.json.decode(metadata[_HEAD], type=RunHead), b64decode(metadata[_BLOOM]), metadata[_BODY])


def footer_bytes(end: bytes | memoryview | pa.Buffer) -> int:
    """Returns how many bytes `head` needs. `end` must hold at least the last eight bytes of the file."""
    return int.from_bytes(memoryview(end)[-_FOOTER_LENGTH_BYTES:-4], "little") + _FOOTER_LENGTH_BYTES


def footer_bytes_likely(count: int) -> int:
    """Returns an upper estimate of the footer's size for so many changes, so that one request reads it."""
    return 16_384 + count // ROW_GROUP * 4_096 + count * bloom.BITS_PER_KEY // 8 * 4 // 3


def check(changes: pa.Table) -> pa.Table:
    """Returns the same rows in one chunk. Raises Invalid if they cannot be a run."""
    check_schema(changes)
    if not len(changes):
        raise Invalid("a run must hold at least one change")
    changes = one_chunk(changes)
    for name in RUN_SCHEMA.names:
        if changes[name].null_count:
            raise Invalid(f"column {name} of a run has nulls")
    paths = column(changes, "path")
    if not ascends(paths):
        raise Invalid("a run's paths must be sorted by their bytes, and none may occur twice")
    return changes


def check_schema(changes: pa.Table) -> None:
    if not changes.schema.equals(RUN_SCHEMA):
        raise Invalid(
            f"a run must have the columns {RUN_SCHEMA.names} with their types; this table has {changes.schema.names}"
        )


def ascends(paths: pa.Array) -> bool:
    """Returns whether every path is greater than the one before."""
    return len(paths) < 2 or bool(pc.all(pc.less(paths[:-1], paths[1:])).as_py())


def one_chunk(table: pa.Table) -> pa.Table:
    return table if all(len(part.chunks) == 1 for part in table.columns) else table.combine_chunks()


def column(table: pa.Table, name: str) -> pa.Array:
    """Returns a column of a table in one chunk. A table without rows may have no chunk at all."""
    part = table[name]
    return part.chunk(0) if part.num_chunks == 1 else part.combine_chunks()


def tombstones(changes: pa.Table) -> int:
    return cast("int", pc.sum(changes["deleted"]).as_py() or 0)


def empty() -> pa.Table:
    return RUN_SCHEMA.empty_table()


# --- rows <-> values -------------------------------------------------------------------------------------------------
def changes_table(changes: Iterable[Change]) -> pa.Table:
    """Returns a table with one row for each change, in path order. REQUIRES: no path occurs twice. It goes row by row,
    so it is meant for thousands of changes."""
    rows = sorted(changes, key=lambda change: change.path)
    entries = [_BURIED if isinstance(row, Tombstone) else row for row in rows]
    blocks = [block for entry in entries for block in entry.blocks]
    block_type = RUN_SCHEMA.field("blocks").type
    spans = pa.StructArray.from_arrays(
        [pa.array([getattr(block, part.name) for block in blocks], part.type) for part in block_type.value_type],
        fields=list(block_type.value_type),
    )
    return pa.table(
        [
            pa.array([row.path for row in rows], pa.string()),
            pa.ListArray.from_arrays(_offsets([len(entry.blocks) for entry in entries]), spans, type=block_type),
            pa.array([entry.size for entry in entries], pa.int64()),
            pa.array([entry.checksum for entry in entries], pa.string()),
            pa.array([entry.etag for entry in entries], pa.string()),
            pa.array([entry.mtime for entry in entries], pa.int64()),
            pa.array([entry.content_type for entry in entries], pa.string()),
            _map_column([entry.checksums for entry in entries]),
            pa.array([entry.parts for entry in entries], RUN_SCHEMA.field("parts").type),
            _map_column([entry.headers for entry in entries]),
            _map_column([entry.metadata for entry in entries]),
            pa.array([isinstance(row, Tombstone) for row in rows], pa.bool_()),
        ],
        schema=RUN_SCHEMA,
    )


def changes_of(changes: pa.Table) -> list[Change]:
    """Returns a value for each row. It goes column by column, which takes two microseconds a row; row by row would take
    fifty."""
    deleted = changes["deleted"].to_pylist()
    if not any(deleted):
        return list(entries_of(changes))
    live = iter(entries_of(changes.filter(pc.invert(changes["deleted"]))))
    paths = changes["path"].to_pylist()
    return [Tombstone(path) if is_deleted else next(live) for path, is_deleted in zip(paths, deleted, strict=True)]


def entries_of(entries: pa.Table) -> list[Entry]:
    """Returns an entry for each row of ENTRY_SCHEMA. A column `deleted` is ignored."""
    entries = one_chunk(entries.select(ENTRY_SCHEMA.names))
    columns = (
        column(entries, "path").to_pylist(),
        _block_tuples(column(entries, "blocks")),
        column(entries, "size").to_pylist(),
        column(entries, "checksum").to_pylist(),
        column(entries, "etag").to_pylist(),
        column(entries, "mtime").to_pylist(),
        column(entries, "content_type").to_pylist(),
        _dicts(column(entries, "checksums")),
        _tuples(column(entries, "parts")),
        _dicts(column(entries, "headers")),
        _dicts(column(entries, "metadata")),
    )
    return [Entry(*values) for values in zip(*columns, strict=True)]


def _block_tuples(blocks: pa.ListArray) -> list[tuple[Block, ...]]:
    spans = blocks.flatten()
    made = [Block(*values) for values in zip(*(part.to_pylist() for part in spans.flatten()), strict=True)]
    lengths = pc.list_value_length(blocks).to_numpy(zero_copy_only=False)
    if len(made) == len(blocks) and (lengths == 1).all():
        return [(block,) for block in made]  # if each has one block, as usual
    ends = np.cumsum(lengths).tolist()
    return [tuple(made[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


def _tuples(lists: pa.ListArray) -> list[tuple[int, ...]]:
    if not len(lists.flatten()):
        return [()] * len(lists)
    return [tuple(values) for values in lists.to_pylist()]


def _dicts(maps: pa.MapArray) -> list[dict[str, str]]:
    offsets = maps.offsets
    if not len(maps) or offsets[0] == offsets[-1]:
        return [{} for _ in range(len(maps))]
    return [dict(pairs) for pairs in maps.to_pylist()]


def _map_column(dicts: list[dict[str, str]]) -> pa.MapArray:
    keys = pa.array([key for values in dicts for key in values], pa.string())
    values = pa.array([value for values in dicts for value in values.values()], pa.string())
    return pa.MapArray.from_arrays(_offsets([len(values) for values in dicts]), keys, values)


def _offsets(lengths: list[int]) -> pa.Array:
    return pa.array(np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))]), pa.int32())


def _with_sums(sink: io.BytesIO) -> bytes:
    """Writes the checksums in place: a second copy of a million changes would take 75 MB."""
    with sink.getbuffer() as data:
        size = footer_bytes(data)
        footer = data[-size:].tobytes()
        at = footer.rindex(_UNKNOWN, 0, footer.rindex(_UNKNOWN))
        footer = footer[:at] + sha256(data[:-size]).hexdigest().encode() + footer[at + len(_UNKNOWN) :]
        at = footer.rindex(_UNKNOWN)
        data[-size:] = footer[:at] + _sum_of_footer(footer, _UNKNOWN) + footer[at + len(_UNKNOWN) :]
    return sink.getvalue()


def _sum_of_footer(footer: bytes, stated: bytes) -> bytes:
    at = footer.rfind(stated)
    return sha256(footer[:at] + _UNKNOWN + footer[at + len(stated) :]).hexdigest().encode()


def _corrupt_error(what: str, error: Exception) -> Corrupt:
    return Corrupt(f"{what} cannot be read: {error}", hint=_RESTORE)


# The values of a tombstone's row, except for its path.
_BURIED = Entry("", (), 0, "", "", 0)
_RESTORE = "restore this file from a copy of the lake; nothing was changed"
