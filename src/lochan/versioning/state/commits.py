"""The commits of a repository: an index sorted by id over their encoded bytes, and the few commits added since.

    rows      id 32 | start 8 | size 4    one for each commit, ascending by id        (big-endian)
    commits   the packed commits one after the other, in the order in which they were added

Both are stored on disk, in checkpoints, and are used without decoding: loading a hundred thousand commits means keeping
two spans of bytes. A commit is decoded when it is needed.
"""

import re
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Self

import msgspec

from lochan.formats.commit import Commit

if TYPE_CHECKING:
    import numpy as np


class CommitColumns(msgspec.Struct, frozen=True):
    """The columns of packed commits. On disk they are a map, which distinguishes them from the list of commits in old
    checkpoints."""

    rows: memoryview
    commits: memoryview

    def __len__(self) -> int:
        return len(self.rows) // _ROW_BYTES

    def find(self, id: bytes) -> Commit | None:
        at = self.seek(id)
        if at == len(self) or self.id(at) != id:
            return None
        start, size = _SPAN.unpack_from(self.rows, at * _ROW_BYTES + _ID_BYTES)
        return _unpack(_decoder.decode(self.commits[start : start + size]))

    def seek(self, id: bytes) -> int:
        """Returns the first row whose id is not less."""
        return bisect_left(range(len(self)), id, key=self.id)

    def with_prefix(self, prefix: str) -> list[str]:
        low, high = (bytes.fromhex(prefix.ljust(2 * _ID_BYTES, digit)) for digit in "0f")
        end = bisect_right(range(len(self)), high, key=self.id)
        return [self.id(at).hex() for at in range(self.seek(low), end)]

    def id(self, at: int) -> bytes:
        return bytes(self.rows[at * _ROW_BYTES : at * _ROW_BYTES + _ID_BYTES])


class Commits:
    """A table of commits like `FoldTable`, with forks. Nothing is ever dropped."""

    __slots__ = ("_columns", "_decoded", "_new", "_parent")

    def __init__(self, parent: "Commits | None" = None) -> None:
        self._parent = parent
        self._columns = NO_COMMITS  # always empty in a fork
        self._new: dict[str, Commit] = {}
        self._decoded: dict[str, Commit] = {}  # recent commits: a walk needs most of them more than once

    def get(self, id: str) -> Commit | None:
        table: Commits | None = self
        while table is not None:
            found = table._new.get(id)
            if found is not None:
                return found
            if table._parent is None:
                return table._decoded.get(id) or table._decode(id)
            table = table._parent
        return None

    def __contains__(self, id: str) -> bool:
        return self.get(id) is not None

    def __iter__(self) -> Iterator[str]:
        """Yields the ids, in no particular order."""
        yield from self._new
        if self._parent is not None:
            yield from (id for id in self._parent if id not in self._new)
            return
        for at in range(len(self._columns)):
            id = self._columns.id(at).hex()
            if id not in self._new:
                yield id

    def with_prefix(self, prefix: str) -> list[str]:
        """Returns the ids with that prefix, ascending."""
        if not _PREFIX.fullmatch(prefix):
            return []
        below = self._columns.with_prefix(prefix) if self._parent is None else self._parent.with_prefix(prefix)
        return sorted({*below, *(id for id in self._new if id.startswith(prefix))})

    def put(self, id: str, commit: Commit) -> None:
        """Replaces a commit with the same id, which has the same content."""
        self._new[id] = commit

    def fork(self) -> Self:
        return type(self)(self)

    def join(self) -> None:
        assert self._parent is not None, "only a fork can be joined"
        self._parent._new.update(self._new)
        self._new = {}

    def dump(self) -> CommitColumns:
        """Moves new commits into the columns, so that no commit is encoded twice."""
        columns = _with(self._columns if self._parent is None else self._parent.dump(), self._new)
        if self._parent is None:
            self._columns, self._new = columns, {}
            self._decoded.clear()  # some may have been replaced
        return columns

    @property
    def columns(self) -> CommitColumns:
        """The columns of the last checkpoint that was loaded or written."""
        return self._columns

    def load(self, dumped: "CommitColumns | list[Commit]") -> None:
        self._decoded.clear()
        if isinstance(dumped, CommitColumns):
            self._columns = dumped
        else:
            self._new = {commit.id: commit for commit in dumped}

    def _decode(self, id: str) -> Commit | None:
        found = self._columns.find(bytes.fromhex(id)) if _ID.fullmatch(id) else None
        if found is not None:
            if len(self._decoded) == _DECODED_MAX:
                self._decoded.clear()
            self._decoded[id] = found
        return found


def _with(columns: CommitColumns, new: Mapping[str, Commit]) -> CommitColumns:
    if not new:
        return columns
    import numpy as np  # only for writing checkpoints; a reader does without it

    dtype = row_type()
    encoded = {id: _encoder.encode(_pack(commit)) for id, commit in new.items()}
    sizes = np.fromiter((len(data) for data in encoded.values()), np.uint64, len(new))
    added = np.empty(len(new), dtype)
    added["id"] = [bytes.fromhex(id) for id in encoded]
    added["start"] = len(columns.commits) + np.cumsum(sizes) - sizes
    added["size"] = sizes
    added = added[np.argsort(added["id"])]
    rows = np.frombuffer(columns.rows, dtype)
    rows = rows[~np.isin(rows["id"], added["id"])]
    rows = np.insert(rows, np.searchsorted(rows["id"], added["id"]), added)
    return CommitColumns(memoryview(rows.tobytes()), memoryview(b"".join((columns.commits, *encoded.values()))))


def row_type() -> "np.dtype[np.void]":
    """Returns the type of a row, for code that looks at all rows at once."""
    import numpy as np

    return np.dtype([("id", f"S{_ID_BYTES}"), ("start", ">u8"), ("size", ">u4")])


class Packed(msgspec.Struct, frozen=True, array_like=True):
    """A commit with its ids as bytes, and the name of its file without the tree's id: a third less to read and to hash.
    Stored on disk; the fields are those of Commit."""

    parents: tuple[bytes, ...]
    author: str
    committer: str
    message: str
    date: int
    metadata: dict[str, str]
    tree: bytes
    tree_file: str
    generation: int


def _pack(commit: Commit) -> Packed:
    return Packed(
        tuple(map(_as_bytes, commit.parents)),
        commit.author,
        commit.committer,
        commit.message,
        commit.date,
        commit.metadata,
        _as_bytes(commit.tree),
        commit.tree_file.replace(commit.tree, _TREE) if commit.tree else commit.tree_file,
        commit.generation,
    )


def _unpack(packed: Packed) -> Commit:
    tree = _as_text(packed.tree)
    return Commit(
        tuple(map(_as_text, packed.parents)),
        packed.author,
        packed.committer,
        packed.message,
        packed.date,
        packed.metadata,
        tree,
        packed.tree_file.replace(_TREE, tree),
        packed.generation,
    )


def _as_bytes(id: str) -> bytes:
    """Returns the id as bytes. Any other text, if there ever is one, follows 32 zeros."""
    return bytes.fromhex(id) if _ID.fullmatch(id) else bytes(_ID_BYTES) + id.encode()


def _as_text(id: bytes) -> str:
    return id.hex() if len(id) == _ID_BYTES and any(id) else id[_ID_BYTES:].decode()


_DECODED_MAX = 10_000
_TREE = "\0"  # stands for the tree's id in the name of a file; no name holds it
_ID_BYTES = 32
_SPAN = struct.Struct(">QI")
_ROW_BYTES = _ID_BYTES + _SPAN.size
_ID = re.compile(r"[0-9a-f]{64}")
_PREFIX = re.compile(r"[0-9a-f]{0,64}")
NO_COMMITS = CommitColumns(memoryview(b""), memoryview(b""))
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Packed)
