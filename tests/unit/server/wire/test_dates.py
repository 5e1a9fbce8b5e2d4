"""Dates: three formats are read, one is written, and invalid text is None."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.server.gateway.wire.header_values import (
    http_date,
    iso_basic,
    iso_millis,
    parse_http_date,
    parse_iso_basic,
    parse_iso_extended,
)

EXAMPLE = int(datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC).timestamp())


@pytest.mark.parametrize(
    "text",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 6 Nov 1994 08:49:37 UTC",
        "06 Nov 1994 08:49:37 GMT",
        " sun, 06 nov 1994 08:49:37 gmt ",
    ],
)
def test_the_forms_of_http(text: str) -> None:
    assert parse_http_date(text) == EXAMPLE


@pytest.mark.parametrize(
    "text",
    ["", "now", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT",
     "Sun, 06 Nov 1994 08:61:37 GMT", "Sun, 06 Nov 0000 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET", "1994-11-06",
     "784111777", "x" * 100_000, "Sun, 06 Nov 1994 08:49:37 GMT" * 2],
)  # fmt: skip
def test_invalid_dates(text: str) -> None:
    assert parse_http_date(text) is None and parse_iso_basic(text) is None and parse_iso_extended(text) is None


@given(st.integers(0, 253_402_300_799))
def test_what_is_written_is_read(seconds: int) -> None:
    assert parse_http_date(http_date(seconds)) == seconds
    assert parse_iso_basic(iso_basic(seconds)) == seconds
    assert parse_iso_extended(iso_millis(seconds * 1_000_000 + 999_999)) == seconds


def test_how_it_is_written() -> None:
    assert http_date(EXAMPLE) == "Sun, 06 Nov 1994 08:49:37 GMT"
    assert iso_basic(EXAMPLE) == "19941106T084937Z"
    assert iso_millis(EXAMPLE * 1_000_000 + 12_345) == "1994-11-06T08:49:37.012Z"


@pytest.mark.parametrize(
    "text", ["20261345T000000Z", "20260101T000000", "2026-01-01T00:00:00Z", "20260101t000000z", "٢0260101T000000Z"]
)
def test_invalid_basic_forms(text: str) -> None:
    assert parse_iso_basic(text) is None
