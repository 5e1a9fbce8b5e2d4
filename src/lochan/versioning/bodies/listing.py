"""What a store's listing tells of files outside the lake, as entries: a table at a time, column by column."""

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.entry import ENTRY_SCHEMA, Block, Entry
from lochan.store.protocol import Stat, check_path
from lochan.versioning.names import KEY_BYTES_MAX, check_key

_MD5 = "^[0-9a-f]{32}$"
_BLOCKS = ENTRY_SCHEMA.field("blocks").type


def url_of(root: str, path: str) -> str:
    """The address of a file; `root` is a bucket's URL, or `file:///`, where % is written as %25; empty: in the lake."""
    if not root:
        return path
    return f"file:///{path.replace('%', '%25')}" if root == "file:///" else f"{root}/{path}"


def entry_of(path: str, root: str, stat: Stat) -> Entry:
    """What the store tells of the file; its SHA-256 is not known. Under some kinds of encryption an ETag looks like an
    MD5 and is none; it still tells one content from another."""
    check_key(path)
    check_path(stat.path)
    etag = plain_etag(stat.etag)
    return Entry(
        path=path,
        blocks=(Block(url_of(root, stat.path), 0, stat.size, b""),),
        size=stat.size,
        checksum=etag if re.fullmatch(_MD5, etag) else "",
        etag=etag,
        mtime=int(stat.modified * 1e6),
    )


def entries_table(stats: Sequence[Stat], root: str, prefix: str, to: str) -> pa.Table:
    """The same of many, in the order of the listing: each gets the path `to` followed by what comes after `prefix`.
    Raises Invalid for a name that could not be kept or read again."""
    names = [stat.path for stat in stats]
    try:
        paths = pa.array([to + name[len(prefix) :] for name in names], pa.string())
    except UnicodeEncodeError:
        _refuse(names, prefix, to)
        raise
    _check(names, paths, prefix, to)
    count = len(stats)
    sizes = pa.array([stat.size for stat in stats], pa.int64())
    etags = pa.array([plain_etag(stat.etag) for stat in stats], pa.string())
    spans = pa.StructArray.from_arrays(
        [
            pa.array([url_of(root, name) for name in names], pa.string()),
            _repeated(0, count, pa.int64()),
            sizes,
            _repeated(b"", count, pa.binary()),
        ],
        fields=list(_BLOCKS.value_type),
    )
    columns = {
        "path": paths,
        "blocks": pa.ListArray.from_arrays(pa.array(np.arange(count + 1), pa.int32()), spans, type=_BLOCKS),
        "size": sizes,
        "checksum": pc.if_else(pc.match_substring_regex(etags, _MD5), etags, ""),
        "etag": etags,
        "mtime": pa.array([int(stat.modified * 1e6) for stat in stats], pa.int64()),
        "content_type": _repeated("", count, pa.string()),
    }
    nothing = {name: _repeated([], count, ENTRY_SCHEMA.field(name).type) for name in _EMPTY}
    return pa.table({**columns, **nothing}).select(ENTRY_SCHEMA.names).cast(ENTRY_SCHEMA)


def plain_etag(etag: str) -> str:
    return etag.removeprefix("W/").strip('"')


def _check(names: Sequence[str], paths: pa.Array, prefix: str, to: str) -> None:
    """By the column; one by one only where something is wrong, to say what."""
    longest = pc.max(pc.binary_length(paths)).as_py() or 0
    shortest = pc.min(pc.binary_length(paths)).as_py()
    if longest > KEY_BYTES_MAX or shortest == 0 or _doubtful(pa.array(names, pa.string())):
        _refuse(names, prefix, to)


def _doubtful(names: pa.Array) -> bool:
    """Whether any could fail `check_path`: it holds all that this lets pass."""
    wrong = pc.match_substring_regex(names, r"(^|/)\.{0,2}(/|$)|[\x00-\x1f\x7f]|^\.tmp")
    return bool(pc.any(wrong).as_py()) or (pc.max(pc.binary_length(names)).as_py() or 0) > KEY_BYTES_MAX


def _refuse(names: Sequence[str], prefix: str, to: str) -> None:
    for name in names:
        check_key(to + name[len(prefix) :])
        check_path(name)


def _repeated(value: object, count: int, type: pa.DataType) -> pa.Array:
    return pa.repeat(pa.scalar(value, type), count)


_EMPTY = ("checksums", "parts", "headers", "metadata")
