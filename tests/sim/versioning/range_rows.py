"""The rows of a range as a tree names it, with the formats alone: a patch is put over its base path by path, without
the code that machines use for it."""

from collections.abc import Callable

import pyarrow as pa

from lochan.formats import patch
from lochan.formats import range as ranges
from lochan.formats.entry import ENTRY_SCHEMA
from lochan.formats.range import RangeRef
from tests.sim.versioning.model_values import Broken


def range_rows(ref: RangeRef, read: Callable[[str], bytes]) -> pa.Table:
    """ENTRY_SCHEMA, in path order. `read` returns a file of the repository."""
    if ref.base is None:
        return pa.Table.from_batches([ranges.decode(read(ref.file), ref, ref.file)])
    if ref.base.base is not None:
        raise Broken(f"PATCH: {ref.file} is a patch of a patch")
    base = ranges.decode(read(ref.base.file), ref.base, ref.base.file)
    changes = patch.decode(read(ref.file), ref, ref.file)
    places: dict[str, int | None] = {path: row for row, path in enumerate(base.column("path").to_pylist())}
    tombstones = changes.column("deleted").to_pylist()
    for row, path in enumerate(changes.column("path").to_pylist()):
        places[path] = None if tombstones[row] else base.num_rows + row
    rows = [places[path] for path in sorted(places, key=str.encode)]
    both = pa.Table.from_batches([base, changes.select(ENTRY_SCHEMA.names)], ENTRY_SCHEMA)
    found = both.take([row for row in rows if row is not None]).combine_chunks()
    paths = found["path"].to_pylist()
    made = (ranges.content_id(found), paths[0], paths[-1], len(paths))
    if made != (ref.id, ref.min_path, ref.max_path, ref.count):
        raise Broken(f"PATCH: {ref.file} and its base hold {made}, the tree names {ref}")
    return found
