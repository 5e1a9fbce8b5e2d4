"""Many small inputs of one load, each with the number of its rows. Those that have one row per line are read as one,
because beginning an input takes longer than reading it."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.compute as pc

from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.read_input import Chunk, PlainLines, chunks, impossible_as_invalid, take_chunk
from lochan.ingest.input_format import NDJSON, detect, packing
from lochan.ingest.lines import Lines
from lochan.ingest.streams import Input
from lochan.pools.json_row import FAIL

if TYPE_CHECKING:
    import pyarrow as pa

    from lochan.engines.duckdb.load.load import LoaderOptions

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class SmallInput(NamedTuple):
    name: str
    data: bytes


def read_small_inputs(loader: Loader, inputs: Sequence[SmallInput], options: LoaderOptions) -> list[int]:
    """Returns how many rows each one has. Raises Invalid: then it is not known whose fault it is."""
    assert options.on_error == FAIL, "a fault that is skipped could not be told apart from a row"
    counts = [0] * len(inputs)
    lines: list[bytes] = []
    for number, each in enumerate(inputs):
        if _is_lines(each, options):
            rows = [line for line in each.data.removeprefix(_BYTE_ORDER_MARK).split(b"\n") if line.strip()]
            counts[number] = len(rows)
            lines += rows
        else:
            counts[number] = _read(loader, each, options)
    if lines:
        _read(loader, SmallInput(inputs[0].name, b"\n".join([*lines, b""])), options._replace(format=NDJSON))
    return counts


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
            return _filled(texts)
        case PlainLines(lines):
            return len(lines.texts)
        case list():
            return len(chunk)
    return int(chunk.num_rows)


def _filled(texts: pa.StringArray) -> int:
    """How many are not blank."""
    return int(pc.sum(pc.not_equal(pc.utf8_trim_whitespace(texts), "")).as_py() or 0)
