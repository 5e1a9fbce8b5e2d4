"""The data objects of a commit: one by its id, all of them as a table, and their description for people."""

from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Ambiguous, Invalid, NotFound
from lochan.formats.entry import ENTRY_SCHEMA, Entry
from lochan.formats.entry_table import entries_of
from lochan.formats.pool_settings import PoolSettings
from lochan.pools import facts, times
from lochan.pools.keys import Instant, Span, ends
from lochan.tree.tree import Tree

SUFFIX = ".parquet"
_MARK = f"{facts.PREFIX}facts"  # every data object has it, and no file
_SHOWN = 5  # objects that an error about an ambiguous id names


def object_path(id: str) -> str:
    return f"{id}{SUFFIX}"


def object_id(path: str) -> str:
    return path.removesuffix(SUFFIX)


async def find(tree: Tree, id: str) -> Entry:
    """Finds a data object; `id` may be the beginning of one. Raises NotFound or Ambiguous."""
    prefix = object_id(id)
    if not prefix.isalnum():
        raise Invalid(
            f"{id!r} is not the id of a data object", hint="an id has 27 letters and digits; give the first few"
        )
    exact = await tree.get(object_path(prefix))
    if exact is not None:
        return exact
    found = entries_of((await tree.list(prefix, limit=_SHOWN + 1)).entries)
    if not found:
        raise NotFound(f"no data object {id!r} on this branch", hint="`lochan fs ls REPO` lists those there are")
    if len(found) > 1:
        names = ", ".join(object_id(entry.path) for entry in found[:_SHOWN])
        more = ", …" if len(found) > _SHOWN else ""
        raise Ambiguous(f"{id!r} could be several data objects: {names}{more}", hint="give more of the id")
    return found[0]


def users_metadata(entry: Entry) -> dict[str, str]:
    """Returns the metadata without the facts of a data object, which are internal."""
    if _MARK not in entry.metadata:
        return entry.metadata  # a file, whose names are all the user's
    return {name: value for name, value in entry.metadata.items() if not facts.is_ours(name)}


async def entries(tree: Tree) -> pa.Table:
    """Returns all entries (ENTRY_SCHEMA), by id."""
    batches = [batch async for batch in tree.scan()]
    return pa.Table.from_batches(batches, ENTRY_SCHEMA)


def describe_object(entry: Entry, settings: PoolSettings) -> dict[str, Any]:
    """Describes an object for people."""
    described = facts.from_metadata(entry.metadata, entry.path)
    return {
        "id": object_id(entry.path),
        "rows": described.rows,
        "bytes": entry.size,
        **_span(described.key_min, described.key_max, settings),
        "keyless": described.keyless,
        "shapes": len(described.shapes),
    }


def summarize_objects(objects: pa.Table, settings: PoolSettings) -> dict[str, Any]:
    """Describes all objects together for people."""
    spans = facts.spans(objects)
    keyed = spans.filter(pc.not_equal(spans["min"], ""))
    low, high = pc.min(keyed["min"]).as_py(), pc.max(keyed["max"]).as_py()
    return {
        "objects": len(spans),
        "rows": pc.sum(spans["rows"]).as_py() or 0,
        "bytes": pc.sum(spans["size"]).as_py() or 0,
        **_span(bytes.fromhex(low or ""), bytes.fromhex(high or ""), settings),
        "keyless": pc.sum(spans["keyless"]).as_py() or 0,
    }


def _span(low: bytes, high: bytes, settings: PoolSettings) -> dict[str, Any]:
    """Returns both ends of the span, None if no row has the key."""
    if not low:
        return {"min": None, "max": None}
    least, greatest = ends(Span(low, high), settings)
    return {"min": _show_parts(least), "max": _show_parts(greatest)}


def _show_parts(parts: list[Any]) -> list[Any]:
    """Returns the parts of a key, with times written as in the results of queries."""
    return [_text(part) if isinstance(part, date | Instant) else part for part in parts]


def _text(moment: date | Instant) -> str:
    return times.render(moment.micros if isinstance(moment, Instant) else times.micros_of(moment), times.NATIVE)
