"""What differs between two commits of a pool, as the command line shows it: its objects, with their rows and keys."""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from lochan.cli.shown import cell, json_text, size_cell

if TYPE_CHECKING:
    from lochan.formats.pool_settings import PoolSettings
    from lochan.tree.diff import Difference

COLUMNS = ("kind", "id", "rows", "bytes", "min", "max")


def key_cell(key: list[Any] | None) -> str:
    """A key of one part as it is, one of several in a row."""
    if key is None:
        return ""
    return ", ".join(cell(part) if isinstance(part, str) else cell(json_text(part, indent=None)) for part in key)


CELLS: Mapping[str, Callable[[Any], str]] = {"bytes": size_cell, "min": key_cell, "max": key_cell}


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
