"""What comes from a decoder is accepted only if it is valid."""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lochan.ingest.channel import (
    PIECE_BYTES,
    InvalidBatch,
    InvalidRows,
    batch_pieces,
    pack_rows,
    unpack_rows,
    validated_batch,
)
from tests.hostile_files import Hostile, arrow, arrow_stream


def test_a_batch_comes_back_in_pieces_that_are_not_long() -> None:
    batch = pa.RecordBatch.from_pydict(
        {"n": list(range(1_000)), "t": ["x" * (1 << (each % 19)) for each in range(1_000)]}
    )
    sent = list(batch_pieces(batch))
    assert all(each.size < 2 * PIECE_BYTES + 10_000 for each in sent) and len(sent) > 1
    assert pa.Table.from_batches([validated_batch(each) for each in sent]).to_pydict() == batch.to_pydict()
    assert list(batch_pieces(batch.slice(0, 0))) == []


@pytest.mark.parametrize("each", [each for each in arrow() if each.path.endswith(".arrows")], ids=lambda each: each.id)
def test_a_batch_that_lies_is_not_believed(each: Hostile) -> None:
    with pytest.raises(InvalidBatch):
        validated_batch(pa.py_buffer(each.data))


def test_types_that_no_reader_sends_are_not_believed() -> None:
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
    runs = pa.RunEndEncodedArray.from_arrays([3], [1])
    views = pa.array(["x"], pa.string_view())
    for column in (union, runs, views, pa.array(["x"]).dictionary_encode(), pa.array([b"0" * 16], pa.uuid())):
        with pytest.raises(InvalidBatch):
            validated_batch(pa.py_buffer(arrow_stream(pa.table({"c": column}))))


def test_more_rows_than_bytes_are_not_believed() -> None:
    data = arrow_stream(pa.table({"n": pa.array([7] * 5_000_000, pa.int64())}), "zstd")
    with pytest.raises(InvalidBatch):
        validated_batch(pa.py_buffer(data))
    lied = arrow_stream(pa.table({"n": pa.array([7] * 5_000, pa.int64())}), "zstd")
    lied = lied.replace(struct.pack("<q", 40_000), struct.pack("<q", 1 << 45))
    with pytest.raises(InvalidBatch):
        validated_batch(pa.py_buffer(lied))


def test_rows_come_back_as_they_were() -> None:
    rows: list[dict[str, Any]] = [
        {"a": 1, "b": None, "d": date(2020, 1, 2), "t": datetime(1960, 1, 2, 3, 4, 5, 6, UTC), "x": Decimal("0.10")},
        {"l": [1, "x", {"y": 2.5, "d": [date(1, 1, 1)]}], "least": -(1 << 63), "most": (1 << 63) - 1, "": True},
    ]
    assert unpack_rows(pack_rows(rows)) == rows


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xc0", id="null"),
        pytest.param(b"\x91\xc0", id="a null for a row"),
        pytest.param(b"\x91\x81\x01\x02", id="a number for a name"),
        pytest.param(b"\xdd\xff\xff\xff\xff", id="four billion rows announced"),
        pytest.param(b"\x91" * 99_999, id="deep"),
        pytest.param(b"\x91\x81\xa1a\xd4\x01x", id="no decimal"),
        pytest.param(b"\x91\x81\xa1a\xd4\x09x", id="an unknown kind"),
        pytest.param(b"\x91\x81\xa1a\x01\xff", id="more after the end"),
    ],
)
def test_invalid_rows_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidRows):
        unpack_rows(data)
