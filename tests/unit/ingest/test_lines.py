"""Lines of a stream as texts in Arrow: every byte once, wherever a piece of the stream or of the search ends."""

import io

import pytest

from lochan.ingest import lines as module
from lochan.ingest.lines import lines


@pytest.mark.parametrize("block", [1, 2, 3, 7, 256 << 10])
@pytest.mark.parametrize("chunk", [1, 5, 16, 1 << 20])
@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"a", b"a\n", b"\n\na\n", b"one\ntwo\nthree", b"x" * 40 + b"\n" + b"y\n" * 9, b"\xff\n\xc3\xa9\n"],
)
def test_every_line_once(monkeypatch: pytest.MonkeyPatch, data: bytes, chunk: int, block: int) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", block)
    found = [
        (piece.line_of(number), piece.bytes_of(number))
        for piece in lines("x", io.BytesIO(data), chunk)
        for number in range(len(piece.texts))
    ]
    assert found == list(enumerate(data.splitlines(keepends=True), 1))
