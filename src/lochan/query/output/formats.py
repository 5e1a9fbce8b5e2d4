"""Writes a result in the requested format, as pieces of bytes while its rows come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Refused
from lochan.pools.json_row import read_value
from lochan.pools.kinds import DECIMAL, DURATION, IP, JSON, NULL, OBJECT, STRING, TIME
from lochan.query.output.columns import Column
from lochan.query.output.texts import duration_texts, kind_texts, texts, times_of

Batches = Iterable[pa.RecordBatch]


def ndjson(batches: Batches, row: Column) -> Iterator[bytes]:
    for batch in batches:
        if len(batch):
            yield "\n".join(texts(batch, row).to_pylist()).encode() + b"\n"


def json(batches: Batches, row: Column) -> Iterator[bytes]:
    """Yields a JSON list, with a row on each line."""
    begun = False
    for batch in batches:
        if len(batch):
            yield (b",\n  " if begun else b"[\n  ") + ",\n  ".join(texts(batch, row).to_pylist()).encode()
            begun = True
    yield b"\n]\n" if begun else b"[]\n"


def write_parquet(batches: Batches, row: Column, sink: IO[bytes]) -> None:
    import pyarrow.parquet as pq

    from lochan.query.output.typed import typed_batches, typed_schema

    with pq.ParquetWriter(sink, typed_schema(row), compression="zstd") as writer:
        for batch in typed_batches(batches, row):
            writer.write_batch(batch)


def write_arrow(batches: Batches, row: Column, sink: IO[bytes]) -> None:
    """Writes the stream format of Arrow IPC."""
    from lochan.query.output.typed import typed_batches, typed_schema

    with pa.ipc.new_stream(sink, typed_schema(row)) as writer:
        for batch in typed_batches(batches, row):
            writer.write_batch(batch)


def write(form: str, batches: Batches, row: Column, sink: IO[bytes]) -> None:
    """Writes the rows. `form` is ndjson, json, csv, text, parquet, arrow, or stream, which is read by
    `output/stream.py`."""
    if form == "stream":
        from lochan.query.output.stream import write_stream

        write_stream(batches, row, sink)
    elif form == "parquet":
        write_parquet(batches, row, sink)
    elif form == "arrow":
        write_arrow(batches, row, sink)
    else:
        for piece in TEXTS[form](batches, row):
            sink.write(piece)


# ── Python values ────────────────────────────────────────────────────────────────────────────────────────────────────


def rows(batch: pa.RecordBatch, row: Column) -> Iterator[Any]:
    """Yields the rows as a JSON reader returns them, with ints of any size, and times in their original format."""
    read = read_value if _has_texts(row) else orjson.loads
    for text in texts(batch, row).to_pylist():
        yield read(text)


def _has_texts(row: Column) -> bool:
    """Returns whether the rows may have numbers that a double does not hold. Only texts that were kept unchanged can
    have these."""
    return (
        row.body is not None
        or bool({JSON, DECIMAL} & set(row.kinds))
        or any(_has_texts(member) for _, member in row.members)
    )


# ── cells of a table ─────────────────────────────────────────────────────────────────────────────────────────────────


VALUE = "value"  # the only column of rows that are not records


def fields(row: Column) -> tuple[tuple[str, Column], ...]:
    """Returns the columns of the fields. Raises Refused for rows that are stored as text: they have no columns in
    common."""
    if row.body is not None:
        raise Refused(
            "these rows are kept as text and have no columns in common, so they make no table",
            hint="choose fields with cut, or use ndjson or json",
        )
    return row.members if set(row.kinds) == {OBJECT} else ((VALUE, row),)


def titles(row: Column) -> list[str]:
    return [name for name, _ in fields(row)]


def cells(batch: pa.RecordBatch, row: Column) -> list[pa.Array]:
    """Returns a column of texts for each field of the rows, with NULL where a row has nothing there. A string is its
    own text, everything else is written as in JSON. Null and missing are empty cells."""
    return [cell_texts(batch, column) for _, column in fields(row)]


def cell_texts(batch: pa.RecordBatch, column: Column) -> pa.Array:
    """Returns the texts of one field."""
    plain = [_plain(batch, kind, name, column) for kind, name in column.kinds.items() if kind != NULL]
    if not plain:
        return pa.nulls(len(batch), pa.large_string())
    return plain[0] if len(plain) == 1 else pc.coalesce(*plain)


def _plain(batch: pa.RecordBatch, kind: str, name: str, column: Column) -> pa.Array:
    if kind == STRING:
        return batch.column(name).cast(pa.large_string())
    if kind == TIME:
        return times_of(batch, column)
    if kind == DURATION:
        return duration_texts(batch.column(name))
    if kind == IP:
        return pc.replace_substring(kind_texts(batch, kind, name, column), '"', "")
    return kind_texts(batch, kind, name, column)


def tab_separated(batches: Batches, row: Column) -> Iterator[bytes]:
    """Yields the `text` format: cells with tabs between them, without a header. Tabs and line breaks in cells become
    spaces."""
    for batch in batches:
        found = [pc.replace_substring_regex(pc.fill_null(each, ""), r"[\t\r\n]", " ") for each in cells(batch, row)]
        if found and len(batch):
            lines = pc.binary_join_element_wise(*found, pa.scalar("\t", pa.large_string()))
            yield "\n".join(lines.to_pylist()).encode() + b"\n"


# ── CSV ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


_TEXT = pa.large_string()
_QUOTE = pa.scalar('"', _TEXT)


def csv(batches: Batches, row: Column) -> Iterator[bytes]:
    """Yields a header, then a line for each row. Cells are quoted where necessary; `""` is an empty string."""
    names = pa.array(titles(row), _TEXT)
    yield ",".join(_quote(names).to_pylist()).encode() + b"\r\n"
    for batch in batches:
        if len(batch) and len(names):
            found = [pc.fill_null(_quote(each), "") for each in cells(batch, row)]
            lines = pc.binary_join_element_wise(*found, pa.scalar(",", _TEXT))
            yield "\r\n".join(lines.to_pylist()).encode() + b"\r\n"


def _quote(values: pa.Array) -> pa.Array:
    needs = pc.match_substring_regex(values, r'[",\r\n]|^$|^\s|\s$')
    if not pc.any(needs).as_py():
        return values
    doubled = pc.replace_substring(values, '"', '""')
    return pc.if_else(needs, pc.binary_join_element_wise(_QUOTE, doubled, _QUOTE, pa.scalar("", _TEXT)), values)


# ── tables for a terminal, a page at a time ──────────────────────────────────────────────────────────────────────────


ROWS_AT_ONCE = 1_000


def table_pages(batches: Batches, row: Column) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yields titles and cells of at most ROWS_AT_ONCE rows. There is at least one page, which may be empty."""
    names = titles(row)
    page: list[list[str]] = []
    shown = False
    for batch in batches:
        for start in range(0, len(batch), ROWS_AT_ONCE):
            page += _lines(batch.slice(start, ROWS_AT_ONCE), row)
            if len(page) >= ROWS_AT_ONCE:
                yield names, page
                page, shown = [], True
    if page or not shown:
        yield names, page


def _lines(batch: pa.RecordBatch, row: Column) -> list[list[str]]:
    columns = [[text or "" for text in each.to_pylist()] for each in cells(batch, row)]
    return [list(line) for line in zip(*columns, strict=True)] if columns else [[] for _ in range(len(batch))]


TEXTS: dict[str, Callable[[Batches, Column], Iterator[bytes]]] = {
    "ndjson": ndjson,
    "json": json,
    "csv": csv,
    "text": tab_separated,
}
