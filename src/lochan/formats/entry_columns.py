"""The columns of a batch of entries, read row by row through memoryviews without creating Arrow scalars."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.entry import Block, Entry


class EntryBrief(NamedTuple):
    """The few fields that an answer shows of most entries: those without checksums, headers and metadata of their own.
    Reading it takes a quarter of the time of reading the entry."""

    size: int
    etag: str
    mtime: int
    content_type: str


class EntryColumns:
    def __init__(self, batch: pa.RecordBatch) -> None:
        blocks = batch.column("blocks")
        spans = blocks.values
        self.path = _Texts(batch.column("path"))
        self.blocks = offsets_of(blocks)
        self.address = _texts(spans.field(0))
        self.offset = _numbers(spans.field(1))
        self.block_size = _numbers(spans.field(2))
        self.sha256 = _fixed_bytes(_Bytes(spans.field(3))) or _Bytes(spans.field(3))
        self.size = _numbers(batch.column("size"))
        self.checksum = _Texts(batch.column("checksum"))
        self.etag = _texts(batch.column("etag"))
        self.mtime = _numbers(batch.column("mtime"))
        self.content_type = _texts(batch.column("content_type"))
        self.checksums = _Maps(batch.column("checksums"))
        self.parts = offsets_of(batch.column("parts"))
        self.part_sizes = _numbers(batch.column("parts").values)
        self.headers = _Maps(batch.column("headers"))
        self.metadata = _Maps(batch.column("metadata"))
        # Offsets of the maps of all rows, without columns that are empty in every row.
        maps = (self.checksums.offsets, self.headers.offsets, self.metadata.offsets)
        self._maps = [offsets for offsets in maps if offsets[0] != offsets[-1]]

    def entry(self, row: int) -> Entry:
        return Entry(
            self.path.at(row),
            tuple(map(self._block, range(self.blocks[row], self.blocks[row + 1]))),
            self.size[row],
            self.checksum.at(row),
            self.etag.at(row),
            self.mtime[row],
            self.content_type.at(row),
            self.checksums.at(row),
            tuple(self.part_sizes[self.parts[row] : self.parts[row + 1]]),
            self.headers.at(row),
            self.metadata.at(row),
        )

    def brief(self, row: int) -> EntryBrief | None:
        for offsets in self._maps:
            if offsets[row] != offsets[row + 1]:
                return None
        return EntryBrief(self.size[row], self.etag.at(row), self.mtime[row], self.content_type.at(row))

    def block(self, row: int) -> Block | None:
        first = self.blocks[row]
        return self._block(first) if self.blocks[row + 1] == first + 1 else None

    def _block(self, row: int) -> Block:
        return Block(self.address.at(row), self.offset[row], self.block_size[row], self.sha256.at(row))


class _Bytes:
    __slots__ = ("_data", "_offsets")

    def __init__(self, array: pa.Array) -> None:
        self._offsets, self._data = offsets_of(array), buffer_of(array, 2)

    def at(self, row: int) -> bytes:
        return self._data[self._offsets[row] : self._offsets[row + 1]].tobytes()


class _Texts(_Bytes):
    __slots__ = ()

    def at(self, row: int) -> str:  # type: ignore[override]
        return str(self._data[self._offsets[row] : self._offsets[row + 1]], "utf-8")


class _FixedBytes:
    """Values of one length: the position of a value follows from its row, so no offset is read. In a mapped column with
    millions of rows, each such read would miss the processor's cache."""

    __slots__ = ("_data", "_first", "_width")

    def __init__(self, data: memoryview, first: int, width: int) -> None:
        self._data, self._first, self._width = data, first, width

    def at(self, row: int) -> bytes:
        start = self._first + row * self._width
        return self._data[start : start + self._width].tobytes()


class _FixedTexts(_FixedBytes):
    __slots__ = ()

    def at(self, row: int) -> str:  # type: ignore[override]
        start = self._first + row * self._width
        return str(self._data[start : start + self._width], "utf-8")


class _OneText:
    """A column with the same text in every row, as content types often have."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def at(self, row: int) -> str:
        return self._text


def _texts(array: pa.Array) -> "_Texts | _FixedTexts | _OneText":
    texts = _Texts(array)
    fixed = _fixed_bytes(texts)
    if fixed is None:
        return texts
    first, last = texts.at(0), texts.at(len(array) - 1)
    if first == last and pc.all(pc.equal(array, first)).as_py():
        return _OneText(first)
    return _FixedTexts(fixed._data, fixed._first, fixed._width)


def _fixed_bytes(values: _Bytes) -> _FixedBytes | None:
    """Returns the values, or None if they have several lengths, or if there are none."""
    offsets = np.frombuffer(values._offsets, np.int32)
    widths = np.diff(offsets)
    if not len(widths) or widths[0] != widths[-1] or not (widths == widths[0]).all():
        return None
    return _FixedBytes(values._data, int(offsets[0]), int(widths[0]))


class _Maps:
    __slots__ = ("_keys", "_values", "offsets")

    def __init__(self, array: pa.MapArray) -> None:
        self.offsets = offsets_of(array)
        self._keys, self._values = _Texts(array.keys), _Texts(array.items)

    def at(self, row: int) -> dict[str, str]:
        start, stop = self.offsets[row], self.offsets[row + 1]
        if start == stop:
            return {}
        return {self._keys.at(item): self._values.at(item) for item in range(start, stop)}


def offsets_of(array: pa.Array) -> memoryview:
    return buffer_of(array, 1).cast("i")[array.offset : array.offset + len(array) + 1]


def _numbers(array: pa.Array) -> memoryview:
    return buffer_of(array, 1).cast("q")[array.offset : array.offset + len(array)]


def buffer_of(array: pa.Array, which: int) -> memoryview:
    buffer = array.buffers()[which]
    return memoryview(b"") if buffer is None else memoryview(buffer).cast("B")
