"""Rows as bytes, on their way to or from a server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from lochan.api.given_rows import given_rows
from lochan.api.wire.values import ARROW, JSON, LINES
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.engines.result import Stats
    from lochan.engines.row_diff.result import RowDiff


PLANNED = "x-query-planned"  # a header that says what a query is going to read, and what it skips
_PLANNED = ("objects", "objects_read", "bytes", "bytes_read", "rows_read")


def planned_text(stats: Stats) -> bytes:
    """Returns the plan as JSON in plain ASCII, for a header."""
    import json

    skipped = [(each.why, int(each.objects), int(each.bytes)) for each in stats.skipped]
    return json.dumps({**{name: int(getattr(stats, name)) for name in _PLANNED}, "skipped": skipped}).encode("ascii")


def rows_of_body(file: IO[bytes], media: str) -> Any:
    """Returns rows for `Pool.load`, read from a file a few at a time, or None if the media type is not supported.
    Raises Invalid for a file that is not of that type."""
    if media == ARROW:
        return _arrow_rows(file)
    if media in (LINES, "application/ndjson", "application/jsonl"):
        return _line_rows(file)
    if media == JSON:
        return _json_rows(file)
    return None


def _arrow_rows(file: IO[bytes]) -> Any:
    import pyarrow as pa

    try:
        return pa.ipc.open_stream(file)
    except pa.ArrowInvalid as error:
        raise Invalid(f"the body is no Arrow stream: {str(error).partition(chr(10))[0]}") from None


def _line_rows(file: IO[bytes]) -> Iterator[Any]:
    from lochan.pools.json_row import BadRow, read_row

    for number, line in enumerate(file, 1):
        if line.strip():
            try:
                yield read_row(line.decode().strip())
            except (BadRow, UnicodeDecodeError) as error:
                said = error.message if isinstance(error, BadRow) else "it is not valid UTF-8"
                raise Invalid(f"line {number:,} of the body is no row: {said}", hint="nothing was loaded") from None


def _json_rows(file: IO[bytes]) -> Any:
    from lochan.pools.json_row import BadRow, read_value

    try:
        found = read_value(file.read().decode())
    except (BadRow, UnicodeDecodeError) as error:
        said = error.message if isinstance(error, BadRow) else "it is not valid UTF-8"
        raise Invalid(f"the body is not valid JSON: {said}", hint="nothing was loaded") from None
    rows = found if isinstance(found, list) else [found]
    for each in rows:
        if not isinstance(each, dict):
            raise Invalid(f"{str(each)[:80]} is not a row", hint="rows are objects; nothing was loaded")
    return rows


def bytes_of_rows(rows: Any) -> tuple[str, Iterator[bytes]]:
    """Returns the media type, and the bytes as they are requested. Raises Invalid for values that are no rows."""
    import pyarrow as pa

    found = given_rows(rows)
    if isinstance(found, pa.Table | pa.RecordBatchReader | pa.RecordBatch):
        return ARROW, _arrow_bytes(found)
    return LINES, _line_bytes(iter(found))


def _arrow_bytes(rows: Any) -> Iterator[bytes]:
    import pyarrow as pa

    reader = pa.table(rows).to_reader() if isinstance(rows, pa.RecordBatch) else pa.RecordBatchReader.from_stream(rows)
    sink = _Pieces()
    with pa.ipc.new_stream(sink, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
            yield from sink.take()
    yield from sink.take()


def _line_bytes(rows: Iterator[Any]) -> Iterator[bytes]:
    from lochan.pools.json_row import row_text

    held: list[str] = []
    for row in rows:
        held.append(row_text(dict(row)) if isinstance(row, dict) else _no_row(row))
        if len(held) == 1_000:
            yield ("\n".join(held) + "\n").encode()
            held.clear()
    if held:
        yield ("\n".join(held) + "\n").encode()


def _no_row(row: Any) -> str:
    raise Invalid(f"{str(row)[:80]} is not a row: it has no names of fields", hint="nothing was loaded")


class _Pieces:
    """A file for a writer that needs one; the written bytes are taken from it."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> int:
        self._held.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

    def take(self) -> Iterator[bytes]:
        found, self._held = self._held, []
        if found:
            yield b"".join(found)


ROW_DIFF = b"lochan.row_diff"


def row_diff_pieces(diff: RowDiff) -> Iterator[bytes]:
    """Yields an Arrow stream of all rows that differ. The rest of the result is in its schema."""
    from dataclasses import replace

    import msgspec
    import pyarrow as pa

    from lochan.engines.row_diff.result import SCHEMA

    told = {
        "engine": diff.engine,
        "counts": dict(diff.counts),
        "sample": [each._asdict() for each in diff.sample],
        "sides": replace(diff.sides, entries=((), ())),
        "read": diff.read,
    }
    sink = _Pieces()
    with pa.ipc.new_stream(sink, SCHEMA.with_metadata({ROW_DIFF: msgspec.json.encode(told)})) as writer:
        yield from sink.take()
        for batch in diff.batches():
            writer.write_batch(batch.cast(SCHEMA))
            yield from sink.take()
    yield from sink.take()
