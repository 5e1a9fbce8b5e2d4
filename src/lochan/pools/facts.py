"""The facts about a data object in its entry, with which a plan is made without opening the object. Stored on disk.

They are stored in the entry's metadata, under names that no user can give:

    lochan-rows, lochan-keyless     the number of rows, and of those without the key
    lochan-min, lochan-max          the span of the key, as hex digits of its ordered form, which compare as texts do
    lochan-facts                    the rest: shapes, columns with their statistics, filters

Users' values are never in events, only in ranges and objects, which can be expired and deleted."""

from __future__ import annotations

import base64
from binascii import a2b_base64
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping

import msgspec
import pyarrow as pa
from msgspec.structs import astuple

from lochan.errors import Corrupt
from lochan.formats.entry import Entry
from lochan.formats.entry_table import map_values
from lochan.formats.pool_settings import path_text
from lochan.formats.range import KEYLESS, MAX, MIN
from lochan.pools.layout import DecimalColumn, Layout, body_layout, lay_out
from lochan.pools.shape import Object

PREFIX = "lochan-"
_ROWS, _FACTS = f"{PREFIX}rows", f"{PREFIX}facts"
_COLUMNS_MAX = 200  # columns whose statistics are kept
_PLAIN_BYTES_MAX = 4 << 10  # facts up to this size are not compressed: unpacking would take most of the time of opening
_REST_AT = 4  # the first field of Facts that is in `lochan-facts`
TEXT_MAX = 64  # characters of a text's least and greatest value

Bound = bool | int | float | str | None


class ShapeFacts(msgspec.Struct, frozen=True, array_like=True):
    id: int
    shape: Object
    rows: int


class ColumnFacts(msgspec.Struct, frozen=True, array_like=True):
    """Statistics of a column. `path` is physical: a column's name and those of its structs' members. Times are
    microseconds since 1970, decimals are texts.

    `least` and `greatest` bound every value of the column. They are None if there is no value, or if a NaN makes them
    useless. A text is cut to TEXT_MAX characters; if `cut`, greater values may begin with it."""

    path: tuple[str, ...]
    kind: str
    present: int  # the number of rows with a value in it; for nullable lists, including nulls
    least: Bound = None
    greatest: Bound = None
    cut: bool = False
    bloom: bytes = b""  # a filter over its values (formats/bloom.py), if it is worth its size


class Facts(msgspec.Struct, frozen=True, array_like=True):
    rows: int
    keyless: int  # the number of rows without the key, or with null in it: they are in no range of keys
    key_min: bytes  # the least key in ordered form; empty if no row has the key
    key_max: bytes
    shapes: tuple[ShapeFacts, ...]
    columns: tuple[ColumnFacts, ...] = ()
    body: bool = False  # whether rows are text; `shapes` is empty if there were too many, and `_shape` is 0
    sorted: bool = True  # whether the rows are in the order of the key
    keys: tuple[tuple[str, ...], ...] = ()  # paths that are always columns of the layout
    decimals: tuple[DecimalColumn, ...] = ()  # for the columns of text whose numbers are known
    times: tuple[tuple[str, ...], ...] = ()  # fields declared as times: strings in them are not times
    strings: tuple[int, ...] = ()  # the number of such strings for each of `times`

    def layout(self) -> Layout:
        shapes = [each.shape for each in self.shapes]
        return body_layout(shapes, self.keys) if self.body else lay_out(shapes, self.keys)

    def dictionary(self) -> dict[int, Object]:
        return {each.id: each.shape for each in self.shapes}


class _Rest(msgspec.Struct, frozen=True, array_like=True):
    """The fields of Facts from `shapes` on, in the same order."""

    shapes: tuple[ShapeFacts, ...]
    columns: tuple[ColumnFacts, ...]
    body: bool
    sorted: bool
    keys: tuple[tuple[str, ...], ...]
    decimals: tuple[DecimalColumn, ...] = ()  # old entries lack this and the next fields
    times: tuple[tuple[str, ...], ...] = ()
    strings: tuple[int, ...] = ()


class LazyFacts(msgspec.Struct, frozen=True, array_like=True):
    """Facts that are decoded on demand: a plan reads one column of very many objects."""

    shapes: tuple[_OpenedShape, ...]
    columns: tuple[msgspec.Raw, ...]
    body: bool
    sorted: bool
    keys: msgspec.Raw
    decimals: msgspec.Raw = msgspec.Raw()
    times: msgspec.Raw = msgspec.Raw()

    def form(self) -> Hashable:
        """Returns a value that is equal for objects that keep the same fields in the same places."""
        shapes = tuple((each.id, bytes(each.shape), each.rows > 0) for each in self.shapes)
        return shapes, bytes(self.keys), self.body, bytes(self.decimals), bytes(self.times)

    def column(self, path: tuple[str, ...]) -> ColumnFacts | None:
        beginning = msgspec.msgpack.encode(path)  # follows the byte with the number of fields
        end = 1 + len(beginning)
        found = next((each for each in self.columns if memoryview(each)[1:end] == beginning), None)
        return None if found is None else _column_decoder.decode(found)


class _OpenedShape(msgspec.Struct, frozen=True, array_like=True):
    id: int
    shape: msgspec.Raw
    rows: int


def to_metadata(facts: Facts) -> dict[str, str]:
    kept = msgspec.structs.replace(facts, columns=facts.columns[:_COLUMNS_MAX])
    packed = msgspec.msgpack.encode(_Rest(*astuple(kept)[_REST_AT:]))
    size = len(packed) if len(packed) > _PLAIN_BYTES_MAX else 0
    if size:
        packed = pa.compress(packed, "zstd", asbytes=True)
    text = f"{size}:{base64.b64encode(packed).decode()}"
    return {
        _ROWS: str(facts.rows),
        KEYLESS: str(facts.keyless),
        MIN: facts.key_min.hex(),
        MAX: facts.key_max.hex(),
        _FACTS: text,
    }


def from_metadata(metadata: Mapping[str, str], path: str = "") -> Facts:
    """Decodes all facts. Raises Corrupt if the metadata is not as `to_metadata` wrote it."""
    try:
        rest = _decoder.decode(_unpack(metadata[_FACTS]))
        rows, keyless = int(metadata[_ROWS]), int(metadata[KEYLESS])
        span = bytes.fromhex(metadata[MIN]), bytes.fromhex(metadata[MAX])
    except (KeyError, ValueError, OSError, msgspec.MsgspecError) as error:
        raise Corrupt(f"the facts of data object {path!r} cannot be read: {error}") from error
    return Facts(rows, keyless, *span, *astuple(rest))


def open_facts(unpacked: bytes) -> LazyFacts:
    """Opens unpacked facts, to be decoded on demand. Raises Corrupt."""
    try:
        return _opener.decode(unpacked)
    except msgspec.MsgspecError as error:
        raise Corrupt(f"the facts of a data object cannot be read: {error}") from error


def unpack_facts(text: str) -> bytes:
    """Unpacks an entry's `lochan-facts` for `open_facts`. Raises Corrupt."""
    try:
        return _unpack(text)
    except (ValueError, OSError) as error:
        raise Corrupt(f"the facts of a data object cannot be unpacked: {error}") from error


def facts_texts(entries: pa.Table) -> pa.ChunkedArray:
    """Returns the `lochan-facts` of each entry, for `unpack_facts`."""
    return _texts(entries["metadata"].chunks, _FACTS)


def _unpack(text: str) -> bytes:
    size, _, packed = text.partition(":")
    data = a2b_base64(packed)
    if size == "0":
        return data
    unpacked: bytes = pa.decompress(data, int(size), "zstd", asbytes=True)
    return unpacked


def has_facts(metadata: Mapping[str, str]) -> bool:
    """Returns whether the metadata is that of a data object."""
    return _FACTS in metadata


def is_ours(name: str) -> bool:
    """Returns whether this name in an entry's metadata is reserved for Lochan."""
    return name.startswith(PREFIX)


def spans(entries: pa.Table) -> pa.Table:
    """Returns a table with path, rows, keyless, min, max (hex) and size of each entry, for plans over many objects."""
    metadata = entries["metadata"].chunks
    return pa.table(
        {
            "path": entries["path"],
            "rows": _texts(metadata, _ROWS).cast(pa.int64()),
            "keyless": _texts(metadata, KEYLESS).cast(pa.int64()),
            "min": _texts(metadata, MIN),
            "max": _texts(metadata, MAX),
            "size": entries["size"],
        }
    )


def _texts(metadata: list[pa.MapArray], name: str) -> pa.ChunkedArray:
    return pa.chunked_array([map_values(part, name) for part in metadata], pa.string())


_decoder = msgspec.msgpack.Decoder(_Rest)
_opener = msgspec.msgpack.Decoder(LazyFacts)
_column_decoder = msgspec.msgpack.Decoder(ColumnFacts)


def unparsed_times(entries: Iterable[Entry]) -> dict[str, int]:
    """Returns how many values of fields declared as times are strings that are not times, by field. Fields without one
    are left out."""
    found: Counter[str] = Counter()
    for entry in entries:
        if not has_facts(entry.metadata):  # a file
            continue
        facts = from_metadata(entry.metadata, entry.path)
        for path, count in zip(facts.times, facts.strings, strict=True):
            found[path_text(path)] += count
    return {field: count for field, count in found.items() if count}
