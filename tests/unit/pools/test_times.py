"""Times written as text: each comes back unchanged, or is not a time."""

import re
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.pools.times import MICROS_MAX, MICROS_MIN, NATIVE, format_of, parse, pattern, render, render_all

ALIKE = r"\d{4}-[01]\d-[0-3]\d([T ][0-2]\d:[0-6]\d:[0-6]\d(\.\d{1,7})?Z?)?"
MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59))


@st.composite
def texts(draw: st.DrawFn) -> str:
    moment = draw(MOMENTS)
    day = f"{moment.year:04}-{moment:%m-%d}"
    if draw(st.booleans()):
        return day
    digits = draw(st.integers(0, 6))
    fraction = f".{moment.microsecond:06}"[: digits + 1] if digits else ""
    return f"{day}{draw(st.sampled_from('T '))}{moment:%H:%M:%S}{fraction}{draw(st.sampled_from(['Z', '', '+00:00']))}"


@settings(deadline=None)
@given(texts())
def test_a_time_comes_back_as_it_was(text: str) -> None:
    format = format_of(text)
    assert format is not None
    assert render(parse(text), format) == text
    assert render_all(pa.array([parse(text), None], pa.timestamp("us", "UTC")), format).to_pylist() == [text, None]


@given(
    st.one_of(
        texts(), st.from_regex(r"\d{4}-[01]\d-[0-3]\d([T ][0-2]\d:[0-6]\d:[0-6]\d(\.\d{1,7})?Z?)?", fullmatch=True)
    )
)
def test_what_matches_a_format_is_of_it(text: str) -> None:
    """The pattern may say no to a time, but never yes to what is none."""
    format = format_of(text)
    if format is None:
        formats = ("YYYY-MM-DD", "YYYY-MM-DDTHH:MM:SSZ", "YYYY-MM-DD HH:MM:SS.fff", "YYYY-MM-DDTHH:MM:SS")
        assert not any(re.fullmatch(pattern(each), text) for each in formats)
    elif text[5:10] != "02-29":
        assert re.fullmatch(pattern(format), text)


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-30",
        "2026-13-01",
        "0000-01-01",
        "2026-11-01T24:00:00Z",
        "2026-11-01T10:00:60Z",
        "2026-11-01T10:00Z",
        "2026-11-01T10:00:00+02:00",
        "2026-11-01T10:00:00.1234567Z",
        "2026-11-01T10:00:00z",
        "2026-11-01T10:00:00Z\n",
        "２０２６-11-01",
        "1762000000",
        "",
    ],
)
def test_no_time(text: str) -> None:
    assert format_of(text) is None


def test_native_times_are_written_in_the_shortest_form() -> None:
    at = int(datetime(2026, 11, 1, 10, tzinfo=UTC).timestamp()) * 1_000_000
    expected = ["2026-11-01T10:00:00Z", "2026-11-01T10:00:00.5Z", "2026-11-01T10:00:00.000001Z"]
    moments = [at, at + 500_000, at + 1]
    assert [render(each, NATIVE) for each in moments] == expected
    assert render_all(pa.array(moments, pa.timestamp("us", "UTC")), NATIVE).to_pylist() == expected


def test_a_time_of_another_s_file_that_no_four_digits_say() -> None:
    """Of a year before 1 or beyond 9999: written in full, and never cut."""
    micros = {
        253_402_300_800_000_000: "10000-01-01",
        MICROS_MIN - 1: "0000-12-31",
        -62_167_219_200_000_001: "-0001-12-31",
    }
    for each, day in micros.items():
        clock = "00:00:00" if each > 0 else "23:59:59.999999"
        assert render(each, NATIVE) == f"{day}T{clock}Z"
        found = render_all(pa.array([each, 0, None], pa.timestamp("us")), NATIVE).to_pylist()
        assert found == [f"{day}T{clock}Z", "1970-01-01T00:00:00Z", None]
        assert render_all(pa.array([each], pa.timestamp("us")), "YYYY-MM-DD").to_pylist() == [day]
        assert render_all(pa.array([each], pa.timestamp("us")), "YYYY-MM-DD HH:MM:SS").to_pylist() == [
            f"{day} {clock[:8]}"
        ]
    assert render(MICROS_MAX, NATIVE) == "9999-12-31T23:59:59.999999Z"


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"])
def test_an_offset_may_lead_out_of_the_calendar(text: str) -> None:
    with pytest.raises(ValueError, match="before the year 1 or after the year 9999"):
        parse(text)
