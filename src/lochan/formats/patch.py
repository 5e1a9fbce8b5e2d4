"""A patch: the difference between a range and one that is on the store already, its base. Stored on disk.

    ranges/<id>-<mint>-<storage>.parquet     RUN_SCHEMA: entries of the range that are new or other than in the base,
                                             and tombstones for entries of the base that it lacks

The id is that of the range's whole content, as if it were written by itself (`formats/range.py`). `storage` is a hash
of the base's name and of everything in the file. A base is never a patch itself.
"""

from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lochan.errors import Corrupt
from lochan.formats.entry import RUN_SCHEMA
from lochan.formats.entry_table import as_batch
from lochan.formats.range import (
    FOLDER,
    IDENTITY,
    RESTORE,
    WRITING,
    RangeRef,
    check_version,
    digest_of,
    refer,
)
from lochan.formats.range import content_id as whole_content_id

VERSION = 1
_STORAGE_DIGITS = 16
_WRITING = {name: value for name, value in WRITING.items() if name != "write_statistics"}
_JOINED = 32  # stretches of text that are copied together before they are hashed: about 200 kB

Indices = npt.NDArray[np.int64]


def encode(changes: pa.RecordBatch, ref: RangeRef) -> bytes:
    """Returns the bytes of a patch. REQUIRES: RUN_SCHEMA, at least one row, paths ascend; `ref` is of
    `refer_patched`."""
    assert ref.base is not None
    meta = {
        "lochan.patch": str(VERSION),
        "lochan.id": ref.id,
        "lochan.base": ref.base.file,
        "lochan.count": str(ref.count),
    }
    sink = pa.BufferOutputStream()
    table = pa.Table.from_batches([changes]).replace_schema_metadata(meta)
    pq.write_table(table, sink, write_statistics=["path"], **_WRITING)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def decode(data: bytes, ref: RangeRef, what: str) -> pa.RecordBatch:
    """Returns the changes as they were written. Raises Corrupt or FutureFormat, naming `what`."""
    assert ref.base is not None
    try:
        file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        check_version(file.schema_arrow.metadata, "lochan.patch", VERSION, what)
        batch = as_batch(file.read(use_threads=False).cast(RUN_SCHEMA)).replace_schema_metadata(None)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Corrupt(f"{what} cannot be read: {error}", hint=RESTORE) from error
    if _file(ref.id, int(ref.file.split("-")[1]), ref.base, batch) != ref.file:
        raise Corrupt(f"{what} does not match its name and its base", hint=RESTORE)
    return batch


def check_whole(rows: pa.RecordBatch, ref: RangeRef, what: str) -> None:
    """Raises Corrupt unless base and patch together are the range."""
    found = refer(rows, 0, whole_content_id(rows)) if rows.num_rows else None
    stated = (ref.id, ref.min_path, ref.max_path, ref.count, ref.bytes)
    if found is None or (found.id, found.min_path, found.max_path, found.count, found.bytes) != stated:
        raise Corrupt(f"{what} and its base together are not the range that the tree names", hint=RESTORE)


class Splice(NamedTuple):
    """A range as its base with changed rows: the rows `gone` are left out, and each row of `new` is inserted in front
    of the row of the base that `before` names."""

    base: pa.RecordBatch
    gone: Indices
    new: pa.RecordBatch
    before: Indices

    @property
    def row_count(self) -> int:
        return int(self.base.num_rows) - len(self.gone) + int(self.new.num_rows)

    def stretches(self) -> "Stretches":
        count = self.base.num_rows
        rows = np.arange(count)
        rows[self.gone] = -1
        order = np.insert(rows, self.before, count + np.arange(self.new.num_rows))
        order = order[order >= 0]
        breaks = np.flatnonzero((np.diff(order) != 1) | (order[1:] == count)) + 1
        starts = order[np.append(0, breaks)]
        stops = starts + np.diff(np.concatenate([[0], breaks, [len(order)]]))
        return Stretches(count, starts, stops)


class Stretches:
    """Stretches of consecutive rows, each of the base or of the new rows. The new rows are numbered behind those of the
    base."""

    def __init__(self, count: int, starts: Indices, stops: Indices) -> None:
        self.which = (starts >= count).astype(np.int64)
        shift = self.which * count
        self.starts, self.stops = starts - shift, stops - shift

    @cached_property
    def listed(self) -> list[tuple[int, int, int]]:
        return [*zip(self.which.tolist(), self.starts.tolist(), self.stops.tolist(), strict=True)]

    def inner(self, ends: Sequence[npt.NDArray[np.int32]]) -> "Stretches":
        """Returns the stretches of the items in the lists of these rows."""
        made = Stretches(1, np.zeros(0, np.int64), np.zeros(0, np.int64))
        made.which = self.which
        made.starts, made.stops = _at(ends, self.which, self.starts), _at(ends, self.which, self.stops)
        return made


def refer_patched(splice: Splice, changes: pa.RecordBatch, base: RangeRef, mint: int) -> RangeRef:
    """Returns the reference that names the range. REQUIRES: `changes` lead from the base to it; its last path is that
    of the base."""
    stretches = splice.stretches()
    side = (splice.base, splice.new)[int(stretches.which[0])]
    id = content_id(splice, stretches)
    gone = splice.base.column("size").to_numpy()[splice.gone].sum()
    return RangeRef(
        id,
        _file(id, mint, base, changes),
        side.column("path")[int(stretches.starts[0])].as_py(),
        base.max_path,
        splice.row_count,
        base.bytes - int(gone) + (pc.sum(splice.new.column("size")).as_py() or 0),
        None,
        base,
    )


def content_id(splice: Splice, stretches: Stretches) -> str:
    """Returns the same as `range.content_id` of the rows, without copying them."""
    digest = sha256(b"lochan range 1\n" + splice.row_count.to_bytes(8, "little"))
    for name in IDENTITY:
        _feed(digest, (splice.base.column(name), splice.new.column(name)), stretches)
    return digest.hexdigest()


def _file(id: str, mint: int, base: RangeRef, changes: pa.RecordBatch) -> str:
    deleted = changes.schema.get_field_index("deleted")
    table = pa.Table.from_batches([changes])
    table = table.set_column(deleted, "deleted", table["deleted"].cast(pa.int64()))
    storage = digest_of(f"lochan patch 1\n{base.file}".encode(), table, tuple(RUN_SCHEMA.names))
    return f"{FOLDER}/{id}-{mint}-{storage[:_STORAGE_DIGITS]}.parquet"


# --- the digest of columns, stretch by stretch: the same bytes as in `formats/range.py` ------------------------------
def _feed(digest: Any, sides: Sequence[pa.Array], stretches: Stretches) -> None:
    kind = sides[0].type
    if pa.types.is_int64(kind):
        numbers = [side.to_numpy() for side in sides]
        digest.update(np.ascontiguousarray(_join(numbers, stretches), "<i8"))
    elif pa.types.is_map(kind):
        ends = [side.offsets.to_numpy() if len(side) else np.zeros(1, np.int32) for side in sides]
        digest.update(np.ascontiguousarray(_join([np.diff(each) for each in ends], stretches), "<u4"))
        inner = stretches.inner(ends)
        _feed(digest, [side.keys for side in sides], inner)
        _feed(digest, [side.items for side in sides], inner)
    else:
        _feed_texts(digest, sides, stretches)


def _feed_texts(digest: Any, sides: Sequence[pa.Array], stretches: Stretches) -> None:
    ends, views = [], []
    for side in sides:
        _, offsets, data = side.buffers()
        whole = np.zeros(1, np.int32) if offsets is None or not len(side) else np.frombuffer(offsets, np.int32)
        ends.append(whole[side.offset : side.offset + len(side) + 1] if len(side) else whole[:1])
        views.append(memoryview(b"") if data is None else memoryview(data))
    digest.update(np.ascontiguousarray(_join([np.diff(each) for each in ends], stretches), "<u4"))
    texts = stretches.inner(ends).listed
    for start in range(0, len(texts), _JOINED):
        digest.update(b"".join([views[which][low:high] for which, low, high in texts[start : start + _JOINED]]))


def _join(sides: Sequence[npt.NDArray[Any]], stretches: Stretches) -> npt.NDArray[Any]:
    return np.concatenate([sides[which][low:high] for which, low, high in stretches.listed])


def _at(ends: Sequence[npt.NDArray[np.int32]], which: Indices, rows: Indices) -> Indices:
    first = ends[0][np.minimum(rows, len(ends[0]) - 1)]
    second = ends[1][np.minimum(rows, len(ends[1]) - 1)]
    return np.where(which == 0, first, second).astype(np.int64)
