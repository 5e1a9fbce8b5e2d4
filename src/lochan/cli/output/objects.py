"""Prints objects, differences between two commits, and conflicts. For a pool, it also prints rows and keys. Conflicts
are listed before the error that counts them."""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from lochan.cli.output.records import cell, json_text, show_records, size, size_cell
from lochan.errors import LochanError, PathsInTheWay

if TYPE_CHECKING:
    from lochan.api.object_results import ObjectInfo


COLUMNS = ("kind", "left", "right", "path")
POOL_COLUMNS = ("kind", "id", "rows", "bytes", "min", "max")


def object_record(found: "ObjectInfo") -> dict[str, Any]:
    return {"path": found.path, "type": "object", **found.as_json()}


def side_cell(side: dict[str, Any] | None) -> str:
    return "" if side is None else size_cell(side["size"])


def key_cell(key: list[Any] | None) -> str:
    """Returns a key as text. Several parts are separated by commas."""
    if key is None:
        return ""
    return ", ".join(cell(part) if isinstance(part, str) else cell(json_text(part, indent=None)) for part in key)


CELLS = {"left": side_cell, "right": side_cell}
POOL_CELLS: Mapping[str, Callable[[Any], str]] = {"bytes": size_cell, "min": key_cell, "max": key_cell}


async def totals(records: AsyncIterable[dict[str, Any]]) -> dict[str, int]:
    """Counts the objects, rows and bytes that were added and removed."""
    found = {f"{what}_{kind}": 0 for kind in ("added", "removed") for what in ("objects", "rows", "bytes")}
    async for record in records:
        if record["kind"] in ("added", "removed"):
            found[f"objects_{record['kind']}"] += 1
            for what in ("rows", "bytes"):
                found[f"{what}_{record['kind']}"] += record[what]
    return found


# Conflicts are listed before the error that counts them: paths that both sides changed, or that have uncommitted
# changes where a head would move over them.


_COLUMNS = ("path", "base", "ours", "theirs")
_DIGITS = 8  # the digits of a checksum that are shown, where a person compares three


@asynccontextmanager
async def listing_conflicts(form: str) -> AsyncIterator[None]:
    from lochan.api.object_results import has_conflicts

    try:
        yield
    except LochanError as error:
        if has_conflicts(error):
            await _show(error, form)
        elif isinstance(error, PathsInTheWay):
            _show_in_the_way(error, form)
        raise


def _show_in_the_way(error: PathsInTheWay, form: str) -> None:
    if not error.keys:
        show_records([{"path": path} for path in error.paths], form, columns=("path",))
    elif form == "json":  # for rows, which the message names too
        show_records([dict(each) for each in error.keys], form, columns=tuple(error.keys[0]))


async def _show(error: LochanError, form: str) -> None:
    from lochan.api.object_results import conflicts_of
    from lochan.cli.output.record_stream import as_records, show_stream

    await show_stream(
        as_records(conflicts_of(error)), form, columns=_COLUMNS, cells=dict.fromkeys(_COLUMNS[1:], conflict_cell)
    )


def conflict_cell(value: Any) -> str:
    return "none" if value is None else f"{size(value['size'])} {value['checksum'][:_DIGITS]}"
