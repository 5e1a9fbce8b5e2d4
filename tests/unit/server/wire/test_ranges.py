"""Ranges: one is honoured, invalid ones are ignored, and one that does not exist is answered with the size."""

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.header_values import ByteSpan, copied_span, requested_span


@pytest.mark.parametrize(
    "header, expected",
    [
        ("bytes=0-9", ByteSpan(0, 10)),
        ("bytes=0-0", ByteSpan(0, 1)),
        ("bytes=5-", ByteSpan(5, 100)),
        ("bytes=-5", ByteSpan(95, 100)),
        ("bytes=-100", ByteSpan(0, 100)),
        ("bytes=-1000", ByteSpan(0, 100)),
        ("bytes=99-", ByteSpan(99, 100)),
        ("bytes=90-1000", ByteSpan(90, 100)),
        ("bytes=0-9223372036854775807", ByteSpan(0, 100)),
        (f"bytes=0-{'9' * 5000}", ByteSpan(0, 100)),
        (f"bytes={'0' * 5000}-5", ByteSpan(0, 6)),
        (" Bytes=0-9 ", ByteSpan(0, 10)),
        ("bytes = 0 - 9", None),
        ("bytes=0-1,5-6", None),
        ("bytes=9-0", None),
        ("bytes=-", None),
        ("bytes=", None),
        ("bytes=a-b", None),
        ("bytes=1.5-2", None),
        ("bytes=+1-2", None),
        ("bytes=--5", None),
        ("bytes 0-9", None),
        ("items=0-9", None),
        ("", None),
        ("bytes=²-3", None),
    ],
)
def test_of_a_hundred_bytes(header: str, expected: ByteSpan | None) -> None:
    assert requested_span(header, 100) == expected


@pytest.mark.parametrize(
    "header, size",
    [("bytes=100-", 100), ("bytes=100-200", 100), ("bytes=-0", 100), ("bytes=0-", 0), ("bytes=-5", 0), ("bytes=0-0", 0),
     (f"bytes={2**63}-", 100), (f"bytes={'9' * 5000}-", 100)],
)  # fmt: skip
def test_what_does_not_exist(header: str, size: int) -> None:
    with pytest.raises(S3Error) as caught:
        requested_span(header, size)
    assert (caught.value.code, caught.value.status) == ("InvalidRange", 416)
    assert caught.value.headers == {"content-range": f"bytes */{size}"}
    assert caught.value.fields["ActualObjectSize"] == str(size)


@given(st.integers(0, 300), st.integers(0, 300), st.binary(max_size=200))
def test_a_span_is_what_the_header_means(first: int, last: int, body: bytes) -> None:
    try:
        span = requested_span(f"bytes={first}-{last}", len(body))
    except S3Error:
        assert first >= len(body)
        return
    wanted = body if last < first else body[first : last + 1]
    assert (body if span is None else body[span.start : span.end]) == wanted
    if span is not None:
        assert span.content_range(len(body)) == f"bytes {first}-{min(last, len(body) - 1)}/{len(body)}"


@pytest.mark.parametrize(
    "header", ["bytes=" + "0-," * 500_000, "bytes=" + " " * 1_000_000 + "x", "bytes=" + "-" * 1_000_000]
)
def test_a_long_header_takes_no_longer_than_its_length(header: str) -> None:
    started = perf_counter()
    assert requested_span(header, 100) is None
    assert perf_counter() - started < 1


def test_the_range_of_a_copy_is_exact() -> None:
    assert copied_span("bytes=0-99", 100) == ByteSpan(0, 100)
    assert copied_span("bytes=5-5", 100) == ByteSpan(5, 6)
    for header in ("bytes=0-", "bytes=-5", "0-5", "bytes=5-4", "bytes=0-5,6-7", "bytes=a-b", ""):
        with pytest.raises(S3Error) as caught:
            copied_span(header, 100)
        assert caught.value.code == "InvalidArgument"
    with pytest.raises(S3Error) as caught:
        copied_span("bytes=0-100", 100)
    assert caught.value.code == "InvalidRange"
