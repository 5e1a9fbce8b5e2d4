"""A preview of a load: the format of a file, its first rows, and a key that suits them. Nothing is loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lochan.api.bodies import Body, chunks_of
from lochan.api.results import Result
from lochan.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BYTES_MAX = 8 << 20
ROWS_MAX = 1_000


class LoadPreview(Result, frozen=True, kw_only=True):
    format: str  # a value of `lochan load -i`
    packing: str  # gzip, zstd; empty if it is not packed
    key: str  # a value of `lochan create --key`, such as `ts:time`; empty if no field suits
    fields: tuple[str, ...]  # the fields of these rows, as paths with dots
    rows: tuple[Any, ...]


async def preview_load(body: Body, name: str, format: str, rows: int) -> LoadPreview:
    """Returns the preview. Raises Invalid if the file has no rows, and for more bytes than a preview reads."""
    import asyncio

    if not 1 <= rows <= ROWS_MAX:
        raise Invalid(f"{rows} is not a number of rows to show", hint=f"1 to {ROWS_MAX}")
    given = bytearray()
    async for piece in chunks_of(body):
        given += piece
        if len(given) > BYTES_MAX:
            raise Invalid(
                f"a preview looks at {BYTES_MAX >> 20} MiB at most",
                hint="give the beginning of a text; of other formats only a smaller file can be shown",
            )
    return await asyncio.to_thread(_preview, bytes(given), name or "the file", format, rows)


def _preview(given: bytes, name: str, format: str, count: int) -> LoadPreview:
    from tempfile import TemporaryDirectory

    from lochan.engines.duckdb.load.sample import sample, suggest
    from lochan.ingest.input_format import FORMATS, LINES, detect
    from lochan.ingest.streams import UnpackedStream, file_input
    from lochan.store.scratch import place

    if format and format not in FORMATS:
        raise Invalid(f"there is no format {format!r}", hint=f"one of {', '.join(FORMATS)}")
    with TemporaryDirectory(prefix="lochan-", dir=place()) as folder:
        path = Path(folder) / "given"
        path.write_bytes(given)
        input = file_input(path, name)
        with UnpackedStream(input, lambda _: None) as stream:
            found, packing = format or detect(name, stream.head), stream.packing or ""
            head = stream.head
        rows: Sequence[Any] = _lines(head) if found == LINES else sample(input, found)
    key = "" if found == LINES else suggest(rows)
    fields = dict.fromkeys(field for row in rows for field in _fields(row))
    return LoadPreview(
        format=found, packing=packing, key=key, fields=tuple(fields), rows=tuple(map(_plain_row, rows[:count]))
    )


def _lines(head: bytes) -> list[dict[str, str]]:
    from lochan.engines.duckdb.load.read_input import LINE

    return [{LINE: line} for line in head.decode("utf-8", errors="replace").splitlines()[:ROWS_MAX]]


def _plain_row(row: Any) -> Any:
    """Returns a row with times and exact numbers as in JSON. Values that JSON cannot have, such as bytes, are shown as
    Python shows them."""
    from lochan.pools.json_row import BadRow, row_text

    try:
        return json.loads(row_text(row))
    except (BadRow, TypeError):
        return json.loads(json.dumps(row, default=str))


def _fields(row: Any, above: str = "") -> Iterator[str]:
    if not isinstance(row, dict):
        return
    for name, value in row.items():
        if isinstance(value, dict) and value:
            yield from _fields(value, f"{above}{name}.")
        else:
            yield above + name
