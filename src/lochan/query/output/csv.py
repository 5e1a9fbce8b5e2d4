"""CSV: a header, then a line for each row. Cells are quoted where they must be; `""` is an empty string."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from lochan.query.output.cells import cells, titles
from lochan.query.output.columns import Column

_TEXT = pa.large_string()
_QUOTE = pa.scalar('"', _TEXT)


def csv(batches: Iterable[pa.RecordBatch], row: Column) -> Iterator[bytes]:
    names = pa.array(titles(row), _TEXT)
    yield ",".join(_quoted(names).to_pylist()).encode() + b"\r\n"
    for batch in batches:
        if len(batch) and len(names):
            found = [pc.fill_null(_quoted(each), "") for each in cells(batch, row)]
            lines = pc.binary_join_element_wise(*found, pa.scalar(",", _TEXT))
            yield "\r\n".join(lines.to_pylist()).encode() + b"\r\n"


def _quoted(values: pa.Array) -> pa.Array:
    needs = pc.match_substring_regex(values, r'[",\r\n]|^$|^\s|\s$')
    if not pc.any(needs).as_py():
        return values
    doubled = pc.replace_substring(values, '"', '""')
    return pc.if_else(needs, pc.binary_join_element_wise(_QUOTE, doubled, _QUOTE, pa.scalar("", _TEXT)), values)
