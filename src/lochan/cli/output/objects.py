"""Objects, and what differs between two commits, as the command line shows them; of a pool, with rows and keys."""

from collections.abc import AsyncIterable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from lochan.cli.output.records import cell, json_text, size_cell

if TYPE_CHECKING:
    from lochan.api.results import ObjectInfo

COLUMNS = ("kind", "left", "right", "path")
POOL_COLUMNS = ("kind", "id", "rows", "bytes", "min", "max")


def object_record(found: "ObjectInfo") -> dict[str, Any]:
    return {"path": found.path, "type": "object", **found.as_json()}


def side_cell(side: dict[str, Any] | None) -> str:
    return "" if side is None else size_cell(side["size"])


def key_cell(key: list[Any] | None) -> str:
    """A key of one part as it is, one of several in a row."""
    if key is None:
        return ""
    return ", ".join(cell(part) if isinstance(part, str) else cell(json_text(part, indent=None)) for part in key)


CELLS = {"left": side_cell, "right": side_cell}
POOL_CELLS: Mapping[str, Callable[[Any], str]] = {"bytes": size_cell, "min": key_cell, "max": key_cell}


async def totals(records: AsyncIterable[dict[str, Any]]) -> dict[str, int]:
    """How many objects, rows and bytes came and went."""
    found = {f"{what}_{kind}": 0 for kind in ("added", "removed") for what in ("objects", "rows", "bytes")}
    async for record in records:
        if record["kind"] in ("added", "removed"):
            found[f"objects_{record['kind']}"] += 1
            for what in ("rows", "bytes"):
                found[f"{what}_{record['kind']}"] += record[what]
    return found
