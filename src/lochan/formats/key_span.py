"""The keys that the data objects of a range span, as a metarange tells them: a plan opens only the ranges it needs. On
somebody's disk.

Each object's entry tells its own span, under these names of its metadata (`pools/facts.py` has the rest); what a range
spans follows from them, so a tree's id does not depend on it.
"""

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.entry_table import as_table, map_values

KEYLESS, MIN, MAX = "lochan-keyless", "lochan-min", "lochan-max"


class KeySpan(msgspec.Struct, frozen=True, array_like=True):
    """Both ends as hex digits of the ordered form, which compare as the keys do; empty: no row has the key."""

    least: str
    greatest: str
    keyless: int  # rows without the key


def of_entries(entries: pa.Table | pa.RecordBatch) -> KeySpan | None:
    """None: some of them are no data objects."""
    metadata = as_table(entries)["metadata"]
    if not _is_object(metadata.chunk(0)):
        return None  # as all files are: nothing more is looked at
    least, greatest, keyless = ([map_values(part, name) for part in metadata.chunks] for name in (MIN, MAX, KEYLESS))
    if any(part.null_count for part in (*least, *greatest, *keyless)):
        return None
    return KeySpan(
        _most(least, "min"), _most(greatest, "max"), sum(pc.sum(part.cast(pa.int64())).as_py() for part in keyless)
    )


def _is_object(metadata: pa.MapArray) -> bool:
    return len(metadata) > 0 and any(name == MIN for name, _ in metadata[0].as_py())


def _most(parts: list[pa.Array], which: str) -> str:
    """Objects that have no row with the key tell an empty span, which does not count."""
    texts = pa.chunked_array(parts, pa.string())
    found: str | None = pc.min_max(texts.filter(pc.not_equal(texts, "")))[which].as_py()
    return found or ""
