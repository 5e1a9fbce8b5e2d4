"""Many small inputs of one load, each with the number of its rows. Those that have one row per line are read as one,
because beginning an input takes longer than reading it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.compute as pc

from lochan.engines.duckdb.load.direct_object import ROWS_MAX
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.read_input import Chunk, PlainLines, chunks, impossible_as_invalid, take_chunk
from lochan.engines.duckdb.load.shape_inference import InferredRow
from lochan.errors import Invalid
from lochan.formats.pool_settings import Path
from lochan.ingest.input_format import NDJSON, detect, packing
from lochan.ingest.lines import Lines
from lochan.ingest.streams import Input
from lochan.pools.json_row import FAIL, read_row, shape_of

if TYPE_CHECKING:
    import pyarrow as pa

    from lochan.engines.duckdb.load.load import LoaderOptions

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class SmallInput(NamedTuple):
    name: str
    data: bytes


def read_small_inputs(loader: Loader, inputs: Sequence[SmallInput], options: LoaderOptions) -> list[int]:
    """Reads the inputs, and returns how many rows each one has. Raises Invalid, and then it is not known which of them
    is wrong."""
    assert options.on_error == FAIL, "a fault that is skipped could not be told apart from a row"
    counts = [0] * len(inputs)
    lines: list[bytes] = []
    for number, each in enumerate(inputs):
        if _is_lines(each, options):
            rows = _lines(each)
            counts[number] = len(rows)
            lines += rows
        else:
            counts[number] = _read(loader, each, options)
    if lines:
        _read(loader, SmallInput(inputs[0].name, b"\n".join([*lines, b""])), options._replace(format=NDJSON))
    return counts


def plain_rows(input: SmallInput, options: LoaderOptions, times: Collection[Path]) -> list[InferredRow] | None:
    """Returns the rows of an input that has one row per line. Returns None if it has another format, too many rows, or
    a bad one: reading it by a load shows what is wrong."""
    try:
        if not _is_lines(input, options):
            return None
        data = input.data
        if data.startswith(b"{") and b"\n" not in data:  # a single row, as most posts have
            texts = [data.decode()]
        else:
            texts = [line.decode() for line in _lines(input)]
        if len(texts) > ROWS_MAX:
            return None
        rows = [read_row(text) for text in texts]
    except (Invalid, UnicodeDecodeError):
        return None
    return [InferredRow(row, shape_of(row, times), text) for row, text in zip(rows, texts, strict=True)]


def _lines(input: SmallInput) -> list[bytes]:
    return [line for line in input.data.removeprefix(_BYTE_ORDER_MARK).split(b"\n") if line.strip()]


def _is_lines(input: SmallInput, options: LoaderOptions) -> bool:
    if packing(input.data) is not None:
        return False
    return (options.format or detect(input.name, input.data)) == NDJSON


def _read(loader: Loader, input: SmallInput, options: LoaderOptions) -> int:
    rows = 0
    opened = Input(input.name, lambda: BytesIO(input.data), len(input.data))
    for chunk in chunks(loader, opened, options):
        with impossible_as_invalid(input.name):
            rows += _rows_in(chunk)
            take_chunk(loader, chunk)
    return rows


def _rows_in(chunk: Chunk) -> int:
    match chunk:
        case Lines(texts=texts):
            return _count_filled(texts)
        case PlainLines(lines):
            return len(lines.texts)
        case list():
            return len(chunk)
    return int(chunk.num_rows)


def _count_filled(texts: pa.StringArray) -> int:
    """Returns how many texts are not blank."""
    return int(pc.sum(pc.not_equal(pc.utf8_trim_whitespace(texts), "")).as_py() or 0)
