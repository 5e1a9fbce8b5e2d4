"""Objects, and what differs between two commits, as the command line shows them; of a pool, with rows and keys."""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from lochan.cli.output.records import cell, instant, json_text, size_cell

if TYPE_CHECKING:
    from lochan.formats.entry import Entry
    from lochan.formats.pool_settings import PoolSettings
    from lochan.tree.diff import Difference


def object_record(entry: "Entry") -> dict[str, Any]:
    from lochan.pools.objects import users_metadata

    return {
        "path": entry.path,
        "type": "object",
        "size": entry.size,
        "mtime": instant(entry.mtime),
        "checksum": entry.checksum,
        "etag": entry.etag,
        "content_type": entry.content_type,
        "metadata": users_metadata(entry),
    }


def side_record(entry: "Entry | None") -> dict[str, Any] | None:
    return None if entry is None else {"size": entry.size, "checksum": entry.checksum}


COLUMNS = ("kind", "left", "right", "path")


def difference_record(difference: "Difference") -> dict[str, Any]:
    return {
        "path": difference.path,
        "kind": difference.kind,
        "left": side_record(difference.left),
        "right": side_record(difference.right),
    }


def side_cell(side: dict[str, Any] | None) -> str:
    return "" if side is None else size_cell(side["size"])


CELLS = {"left": side_cell, "right": side_cell}


POOL_COLUMNS = ("kind", "id", "rows", "bytes", "min", "max")


def key_cell(key: list[Any] | None) -> str:
    """A key of one part as it is, one of several in a row."""
    if key is None:
        return ""
    return ", ".join(cell(part) if isinstance(part, str) else cell(json_text(part, indent=None)) for part in key)


POOL_CELLS: Mapping[str, Callable[[Any], str]] = {"bytes": size_cell, "min": key_cell, "max": key_cell}


async def object_records(
    differences: "AsyncIterable[Difference]", settings: "PoolSettings"
) -> AsyncIterator[dict[str, Any]]:
    from lochan.pools.objects import described

    async for difference in differences:
        entry = difference.right or difference.left
        assert entry is not None, "a difference has a side"
        yield {"kind": difference.kind, **described(entry, settings)}


async def totals(records: AsyncIterable[dict[str, Any]]) -> dict[str, int]:
    """How many objects, rows and bytes came and went."""
    found = {f"{what}_{kind}": 0 for kind in ("added", "removed") for what in ("objects", "rows", "bytes")}
    async for record in records:
        if record["kind"] in ("added", "removed"):
            found[f"objects_{record['kind']}"] += 1
            for what in ("rows", "bytes"):
                found[f"{what}_{record['kind']}"] += record[what]
    return found
