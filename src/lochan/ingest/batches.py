"""Record batches as bytes, and back without trust: each is a stream of one batch, validated in full before anybody
looks at a value."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

PIECE_BYTES = 4 << 20  # of a batch; larger ones are sent in pieces
_DEPTH_MAX = 64
_FOLDED = (  # types in which few bytes may mean many
    pa.types.is_union,
    pa.types.is_run_end_encoded,
    pa.types.is_dictionary,
    pa.types.is_string_view,
    pa.types.is_binary_view,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)


class NotValid(Exception):
    """These bytes are no batch that can be believed."""


def pieces(batch: pa.RecordBatch) -> Iterator[pa.Buffer]:
    """None of them much longer than PIECE_BYTES, unless a row is."""
    rows = max(1, batch.num_rows * PIECE_BYTES // max(batch.nbytes, PIECE_BYTES))
    for begin in range(0, batch.num_rows, rows):
        yield from _pieces(batch.slice(begin, rows))


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.Buffer]:
    """Rows of one batch may be of very different lengths."""
    if batch.nbytes > 2 * PIECE_BYTES and batch.num_rows > 1:
        middle = batch.num_rows // 2
        yield from _pieces(batch.slice(0, middle))
        yield from _pieces(batch.slice(middle))
        return
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    yield sink.getvalue()


def believed(data: pa.Buffer) -> pa.RecordBatch:
    """Raises NotValid."""
    try:
        with pa.ipc.open_stream(data) as reader:
            for field in reader.schema:
                _check_type(field.type, 0)
            _ = reader.schema.names  # decoded here: they may be no UTF-8
            batch = reader.read_next_batch()
        batch.validate(full=True)
    except (pa.ArrowException, StopIteration, OSError, ValueError, MemoryError) as error:
        raise NotValid(str(error).partition("\n")[0]) from error
    if batch.nbytes > data.size + PIECE_BYTES:  # nothing is packed on the way
        raise NotValid("more rows than there are bytes")
    return batch


def _check_type(type: pa.DataType, depth: int) -> None:
    """Raises NotValid. What folds its values a decoder has unfolded."""
    if depth > _DEPTH_MAX:
        raise NotValid("nested too deeply")
    if isinstance(type, pa.BaseExtensionType) or any(each(type) for each in _FOLDED):
        raise NotValid(f"a column of the type {type}")
    for number in range(type.num_fields):
        _check_type(type.field(number).type, depth + 1)
