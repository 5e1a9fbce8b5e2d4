"""Files outside the lake as a listing or an inventory describes them, in tables, and the entries that are made of them.

    LIST_SCHEMA      path, size, etag, mtime             found, checked, sorted and kept
    LOCATED_SCHEMA   the same with the address           an address follows from the path, so it is made when needed

The other columns of an entry have the same value for every file outside, and are added last."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.entry import ENTRY_SCHEMA

# `mtime` is microseconds since 1970.
LIST_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("etag", pa.string(), nullable=False),
        pa.field("mtime", pa.int64(), nullable=False),
    ]
)
LOCATED_SCHEMA = LIST_SCHEMA.insert(1, pa.field("address", pa.string(), nullable=False))  # the file's URL
LOCAL = "file:///"

_MD5 = "^[0-9a-f]{32}$"
_MD5_LENGTH = 32
_LETTERS = 1 << 15  # letters that are tested together, so that intermediate arrays stay in the processor's cache
_ZERO, _A = np.frombuffer(b"0a", np.uint8)
_BLOCKS = ENTRY_SCHEMA.field("blocks").type
_EMPTY = ("checksums", "parts", "headers", "metadata")
_SHARED_ROWS = 1 << 16  # the number of rows in tables that are made into entries
_SHARED_MAX = 2  # sizes of tables


def url_of(root: str, path: str) -> str:
    """Returns the address of a file. `root` is a bucket's URL, or `file:///`, where % is written as %25; it is empty in
    the lake."""
    if not root:
        return path
    return f"{LOCAL}{path.replace('%', '%25')}" if root == LOCAL else f"{root}/{path}"


class FileAddresses(NamedTuple):
    """Finds the addresses of the files of one folder by their paths."""

    root: str  # a bucket's URL, or `file:///`; empty in the lake
    prefix: str  # the beginning of the files' names
    to: str  # the beginning of their paths, in its place

    def name(self, path: str) -> str:
        return self.prefix + path[len(self.to) :]

    def located(self, files: pa.Table) -> pa.Table:
        """Converts LIST_SCHEMA to LOCATED_SCHEMA."""
        return files.add_column(1, LOCATED_SCHEMA.field("address"), self._of(one_chunk(files, "path")))

    def _of(self, paths: pa.StringArray) -> pa.StringArray:
        if self.root != LOCAL:
            return replace_prefix(paths, self.to, url_of(self.root, self.prefix))
        names = replace_prefix(paths, self.to, self.prefix)
        return replace_prefix(pc.replace_substring(names, "%", "%25"), "", LOCAL)


def replace_prefix(texts: pa.Array, old: str, new: str) -> pa.Array:
    """Replaces the beginning of all texts. REQUIRES: all begin with `old`. It works on bytes: on letters it takes five
    times as long."""
    if old == new:
        return texts
    changed = pc.binary_replace_slice(texts.cast(pa.binary()), 0, len(old.encode()), new.encode())
    return changed.view(pa.string())  # both were texts, so no letter needs to be validated


def as_entries(files: pa.Table) -> pa.Table:
    """Makes entries of files. REQUIRES: LOCATED_SCHEMA. The SHA-256 is not known. With some kinds of encryption an ETag
    looks like an MD5 but is none; it still changes with the content."""
    files = files.combine_chunks()
    count = len(files)
    path, address, sizes, etags, mtimes = (one_chunk(files, name) for name in LOCATED_SCHEMA.names)
    same = {name: each.slice(0, count) for name, each in _same_for_all(count).items()}
    spans = pa.StructArray.from_arrays(
        [address, same["offset"], sizes, same["sha256"]], fields=list(_BLOCKS.value_type)
    )
    ends = _numbers(count).slice(0, count + 1)
    columns = {
        **same,
        "path": path,
        "blocks": pa.ListArray.from_arrays(ends, spans, type=_BLOCKS),
        "size": sizes,
        "checksum": etags if _are_all_md5(etags) else pc.if_else(pc.match_substring_regex(etags, _MD5), etags, ""),
        "etag": etags,
        "mtime": mtimes,
    }
    return pa.table([columns[name] for name in ENTRY_SCHEMA.names], schema=ENTRY_SCHEMA)


def _are_all_md5(etags: pa.StringArray) -> bool:
    """Returns whether each ETag is 32 hex digits. Most lists have such files only, and a regular expression takes ten
    times as long."""
    if not len(etags) or not pc.all(pc.equal(pc.binary_length(etags), _MD5_LENGTH)).as_py():
        return False
    _, offsets, data = etags.buffers()
    begin = int(np.frombuffer(offsets, np.int32)[etags.offset])
    letters = np.frombuffer(data, np.uint8)[begin : begin + _MD5_LENGTH * len(etags)]
    return all(_are_hex(letters[at : at + _LETTERS]) for at in range(0, len(letters), _LETTERS))


def _are_hex(letters: npt.NDArray[np.uint8]) -> bool:
    return bool(((letters - _ZERO < 10) | (letters - _A < 6)).all())  # ten digits and six letters


def one_chunk(table: pa.Table, name: str) -> pa.Array:
    column = table[name]
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


# --- columns that are the same for all files: made once, and shared, so that they take neither time nor memory ---
def _same_for_all(count: int) -> dict[str, pa.Array]:
    """Returns the columns that are the same for all files, by name. Each has at least `count` rows."""
    return _empty_columns(_round_up(count))


def _numbers(count: int) -> pa.Array:
    """Returns 0, 1, 2 and so on, up to at least the count."""
    return _ascending(_round_up(count))


def _round_up(count: int) -> int:
    return max(_SHARED_ROWS, 1 << count.bit_length())


@lru_cache(_SHARED_MAX)
def _ascending(count: int) -> pa.Array:
    return pa.array(np.arange(count + 1), pa.int32())


@lru_cache(_SHARED_MAX)
def _empty_columns(count: int) -> dict[str, pa.Array]:
    lists = {name: _nothing(count, ENTRY_SCHEMA.field(name).type) for name in _EMPTY}
    return {
        "offset": _repeat(0, count, pa.int64()),
        "sha256": _repeat(b"", count, pa.binary()),
        "content_type": _repeat("", count, pa.string()),
        **lists,
    }


def _repeat(value: object, count: int, type: pa.DataType) -> pa.Array:
    return pa.repeat(pa.scalar(value, type), count)


def _nothing(count: int, type: pa.DataType) -> pa.Array:
    """Returns empty lists or maps. `pa.repeat` makes them one by one, which took longer than writing the entries."""
    ends = pa.py_buffer(np.zeros(count + 1, np.int32))
    items = pa.nulls(0, type.value_type if pa.types.is_list(type) else pa.struct([type.key_field, type.item_field]))
    return pa.Array.from_buffers(type, count, [None, ends], children=[items])
