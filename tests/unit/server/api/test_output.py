"""Rows as small pieces of bytes, with an end only after the last row."""

import io
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lochan.api.queries import PIECE_BYTES, write_rows
from lochan.engines.result import Result, Stats
from lochan.pools.kinds import INT, OBJECT, STRING
from lochan.query.output.columns import Column

ROW = Column({OBJECT: ""}, members=(("n", Column({INT: "n"})), ("t", Column({STRING: "t"}))))
BATCH = pa.record_batch(
    {"n": pa.array(range(50_000), pa.int64()), "t": [sha256(b"%d" % each).hexdigest() for each in range(50_000)]}
)
TEXTS, FILES = ("ndjson", "json", "csv"), ("arrow", "parquet")


class Broken(Exception):
    pass


def result(batches: int, *, breaks: bool = False) -> Result:
    def given() -> Iterator[pa.RecordBatch]:
        for _ in range(batches):
            yield BATCH
        if breaks:
            raise Broken

    nothing = cast(Any, lambda: None)
    return Result(ROW, given(), Stats("duckdb"), warnings=[], cancel=nothing, close=nothing, boot=lambda: 0.0)


def written(form: str, of: Result, limit: int | None = None) -> tuple[list[bytes], int]:
    pieces: list[bytes] = []
    counts: list[int] = []
    try:
        write_rows(of, form, limit, pieces.append, counts.append)
    except Broken:
        pieces.append(b"")
    return pieces, sum(counts)


@pytest.mark.parametrize("form", [*TEXTS, *FILES])
def test_no_piece_is_large(form: str) -> None:
    pieces, count = written(form, result(2))
    assert count == 100_000 and len(pieces) > 1
    assert max(map(len, pieces)) <= PIECE_BYTES


@pytest.mark.parametrize("limit", [0, 1, 49_999, 50_000, 50_001, 200_000])
def test_a_limit_is_kept_to_the_row(limit: int) -> None:
    whole = min(limit, 100_000)
    for form in TEXTS[:1]:
        pieces, count = written(form, result(2), limit)
        assert b"".join(pieces).count(b"\n") == whole == count
    assert pa.ipc.open_stream(b"".join(written("arrow", result(2), limit)[0])).read_all().num_rows == whole
    assert pq.read_table(io.BytesIO(b"".join(written("parquet", result(2), limit)[0]))).num_rows == whole


@pytest.mark.parametrize("form", FILES)
def test_the_end_of_a_file_is_not_written_where_rows_are_missing(form: str) -> None:
    """A writer that is closed by an error closes its file as if that were all."""
    pieces, _ = written(form, result(4, breaks=True))
    assert pieces[-1] == b""
    data = b"".join(pieces)
    assert len(data) > PIECE_BYTES // 2
    assert not data.endswith(b"PAR1") and not data.endswith(b"\xff\xff\xff\xff\0\0\0\0")
