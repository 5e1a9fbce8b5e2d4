"""Adds a few data objects behind all others of a tree, as each small load does: their ids ascend with time.

    ranges   ├────a────┤├─ b ─┤          the last range is short, and was just written: its rows are in memory
    objects                    · ·
    new      ├────a────┤├── c ──┤        one range and the list of ranges are written

The tree is the one that `Trees.apply` makes, without what that does for changes anywhere in a tree.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import pyarrow as pa

from lochan.formats.entry import Entry
from lochan.formats.entry_table import EntryRows, as_batch, as_table, concat, table_of
from lochan.formats.range import FOLDER, KEYLESS, MAX, MIN, KeySpan, RangeRef, content_id, storage_id
from lochan.tree.assemble import RangeCut

SMALL_BYTES_MAX = 256 << 10  # a longer range takes longer to write than this module saves


class AppendedRange(NamedTuple):
    ref: RangeRef
    entries: pa.Table


def append_to_range(
    last: RangeRef | None, rows: EntryRows | None, entries: Sequence[Entry], mint: int, cut: RangeCut
) -> AppendedRange | None:
    """Returns the range that takes the place of the last one. `rows` are its rows, and both are None in an empty tree.
    Returns None if it is not certain which range `Trees.apply` would make, or if this saves no time: some entry is not
    behind the range or is no data object, the range is a patch, or it may be long enough to be cut."""
    count = len(entries) + (0 if last is None else last.count)
    keys = _span(None if last is None else last.keys, entries, is_first=last is None)
    if not entries or count >= cut.least or keys is None or (last is not None and last.base is not None):
        return None
    added = sorted(map(_canonical, entries), key=lambda entry: entry.path.encode())
    paths = [entry.path for entry in added]
    before = [] if last is None else [last.max_path]
    if any(
        low.encode() >= high.encode() for low, high in zip([*before, *paths], paths[1 - len(before) :], strict=False)
    ):
        return None
    batch = as_batch(table_of(added))
    if rows is not None:
        batch = concat([rows.batch, batch])
    if batch.nbytes > SMALL_BYTES_MAX:
        return None
    id, size = content_id(batch), sum(entry.size for entry in added)
    ref = RangeRef(
        id,
        f"{FOLDER}/{id}-{mint}-{storage_id(batch)}.parquet",
        paths[0] if last is None else last.min_path,
        paths[-1],
        count,
        size if last is None else last.bytes + size,
        keys,
    )
    return AppendedRange(ref, as_table(batch))


def _canonical(entry: Entry) -> Entry:
    """Returns the entry with the names in each map sorted, as its identity requires."""
    checksums, headers, metadata = (
        dict(sorted(each.items(), key=lambda item: item[0].encode()))
        for each in (entry.checksums, entry.headers, entry.metadata)
    )
    return msgspec.structs.replace(entry, checksums=checksums, headers=headers, metadata=metadata)


def _span(before: KeySpan | None, entries: Sequence[Entry], *, is_first: bool) -> KeySpan | None:
    """Returns the span of all keys, or None if some entries are not data objects."""
    known = [each.metadata for each in entries]
    if (before is None and not is_first) or not all(MIN in each and MAX in each and KEYLESS in each for each in known):
        return None
    spans = [KeySpan(each[MIN], each[MAX], int(each[KEYLESS])) for each in known]
    if before is not None:
        spans.append(before)
    return KeySpan(
        min((each.least for each in spans if each.least), default=""),
        max((each.greatest for each in spans if each.greatest), default=""),
        sum(each.keyless for each in spans),
    )
