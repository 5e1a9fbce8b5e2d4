"""What an entry knows of its data object, so that a plan is made without opening it. On somebody's disk.

It rides in the entry's metadata, under names that no user can give:

    lochan-rows, lochan-keyless     how many rows, and how many of them without the key
    lochan-min, lochan-max          the span of the key, hex digits of its ordered form: they compare as texts do
    lochan-facts                    the rest: shapes, columns with their statistics, filters

Values of users are never in events, only in ranges and objects, which can be expired and forgotten.
"""

import base64
from collections.abc import Mapping

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Corrupt
from lochan.pools.layout import Layout, body_layout, lay_out
from lochan.pools.shape import Object, Type

PREFIX = "lochan-"
_ROWS, _KEYLESS, _MIN, _MAX, _FACTS = (PREFIX + name for name in ("rows", "keyless", "min", "max", "facts"))
_COLUMNS_MAX = 200  # whose statistics are kept
TEXT_MAX = 64  # characters of a text's least and greatest value

Bound = bool | int | float | str | None


class ShapeFacts(msgspec.Struct, frozen=True, array_like=True):
    id: int
    shape: Object
    rows: int


class ColumnFacts(msgspec.Struct, frozen=True, array_like=True):
    """`path` is physical: a column's name and those of its structs' members. Times are microseconds since 1970.

    `least` and `greatest` bound every value of the column, None where there is none (or a NaN makes them useless);
    a text is cut to TEXT_MAX characters, and `cut` then says that a greater one may begin with it.
    """

    path: tuple[str, ...]
    kind: str
    present: int  # how many rows have a value in it
    least: Bound = None
    greatest: Bound = None
    cut: bool = False
    bloom: bytes = b""  # of its values (formats/bloom.py), where it pays


class Facts(msgspec.Struct, frozen=True, array_like=True):
    rows: int
    keyless: int  # rows without the key, or with null in it: they lie outside every range
    key_min: bytes  # of the rows with the key, in their ordered form; empty: there are none
    key_max: bytes
    shapes: tuple[ShapeFacts, ...]
    columns: tuple[ColumnFacts, ...] = ()
    body: bool = False  # rows are text; where `shapes` is empty there were too many, and `_shape` is 0
    sorted: bool = True  # whether the rows lie in the order of the key
    keys: tuple[tuple[str, ...], ...] = ()  # paths that the layout keeps as columns in any case

    def layout(self) -> Layout:
        shapes = [each.shape for each in self.shapes]
        return body_layout(shapes, self.keys) if self.body else lay_out(shapes, self.keys)

    def dictionary(self) -> dict[int, Object]:
        return {each.id: each.shape for each in self.shapes}


class _Rest(msgspec.Struct, frozen=True, array_like=True):
    shapes: tuple[ShapeFacts, ...]
    columns: tuple[ColumnFacts, ...]
    body: bool
    sorted: bool
    keys: tuple[tuple[str, ...], ...]


def to_metadata(facts: Facts) -> dict[str, str]:
    rest = _Rest(facts.shapes, facts.columns[:_COLUMNS_MAX], facts.body, facts.sorted, facts.keys)
    packed = pa.compress(msgspec.msgpack.encode(rest), "zstd", asbytes=True)
    size = len(msgspec.msgpack.encode(rest))
    text = f"{size}:{base64.b64encode(packed).decode()}"
    return {
        _ROWS: str(facts.rows),
        _KEYLESS: str(facts.keyless),
        _MIN: facts.key_min.hex(),
        _MAX: facts.key_max.hex(),
        _FACTS: text,
    }


def from_metadata(metadata: Mapping[str, str], path: str = "") -> Facts:
    """Raises Corrupt where it is not as `to_metadata` made it."""
    try:
        size, _, packed = metadata[_FACTS].partition(":")
        rest = _decoder.decode(pa.decompress(base64.b64decode(packed), int(size), "zstd", asbytes=True))
        rows, keyless = int(metadata[_ROWS]), int(metadata[_KEYLESS])
        span = bytes.fromhex(metadata[_MIN]), bytes.fromhex(metadata[_MAX])
    except (KeyError, ValueError, OSError, msgspec.MsgspecError) as error:
        raise Corrupt(f"what is known of the data object {path!r} cannot be read: {error}") from error
    return Facts(rows, keyless, *span, rest.shapes, rest.columns, rest.body, rest.sorted, rest.keys)


def is_ours(name: str) -> bool:
    """Whether this name among an entry's metadata is not a user's."""
    return name.startswith(PREFIX)


def spans(entries: pa.Table) -> pa.Table:
    """Of a table of entries: path, rows, keyless, min, max (hex), size; for plans over many objects at once."""
    metadata = entries["metadata"].combine_chunks()
    return pa.table(
        {
            "path": entries["path"],
            "rows": _number(metadata, _ROWS),
            "keyless": _number(metadata, _KEYLESS),
            "min": pc.map_lookup(metadata, _MIN, "first"),
            "max": pc.map_lookup(metadata, _MAX, "first"),
            "size": entries["size"],
        }
    )


def _number(metadata: pa.Array, name: str) -> pa.Array:
    return pc.map_lookup(metadata, name, "first").cast(pa.int64())


_decoder = msgspec.msgpack.Decoder(_Rest)

__all__ = ["PREFIX", "TEXT_MAX", "Bound", "ColumnFacts", "Facts", "ShapeFacts", "Type", "from_metadata", "is_ours"]
__all__ += ["spans", "to_metadata"]
