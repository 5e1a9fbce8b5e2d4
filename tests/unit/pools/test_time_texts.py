"""Texts that look like times of a format, and can be read, are those that the format writes."""

from itertools import product

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lochan.pools.time_texts import looks_like
from lochan.pools.times import render_all

_UTC = pa.timestamp("us", "UTC")
_FORMATS = {
    "YYYY-MM-DD": "{}-{}-{}",
    "YYYY-MM-DDTHH:MM:SSZ": "{}-{}-{}T{}Z",
    "YYYY-MM-DD HH:MM:SS.fff": "{}-{}-{} {}.120",
    "YYYY-MM-DDTHH:MM:SS.ffffff+00:00": "{}-{}-{}T{}.000001+00:00",
}
_YEARS, _MONTHS = ("0001", "1900", "2000", "2023", "2024", "9999"), ("00", "01", "02", "04", "12", "13")
_DAYS = ("00", "01", "28", "29", "30", "31", "32")
_CLOCKS = ("00:00:00", "23:59:59", "24:00:00", "12:60:00", "12:00:60")


@pytest.mark.parametrize("format", _FORMATS)
def test_as_if_they_were_written_again(format: str) -> None:
    alike = 0
    for parts in product(_YEARS, _MONTHS, _DAYS, _CLOCKS):
        text = pa.array([_FORMATS[format].format(*parts)])
        try:
            times = text.cast(_UTC if format.endswith(("Z", "+00:00")) else pa.timestamp("us"))
        except pa.ArrowInvalid:
            continue
        assert looks_like(text, format) == pc.all(pc.equal(render_all(times, format), text)).as_py(), parts
        alike += 1
    assert alike > 100


@pytest.mark.parametrize(
    "text",
    ["2026-11-01", "2026-11-01 10:00:00Z", "2026-11-01T10:00:00z", "2026-11-01T1O:00:00Z", "2026-11-01T10:00:00"],
)
def test_another_look(text: str) -> None:
    good = "2026-11-01T10:00:00Z"
    for texts in ([good, text], [text, good, None], ["", good, text]):
        assert not looks_like(pa.array(texts), "YYYY-MM-DDTHH:MM:SSZ")


def test_slices_and_nulls() -> None:
    texts = pa.array(["no time", "2026-11-01", None, "2026-11-02", "neither"])
    assert looks_like(texts[1:4], "YYYY-MM-DD") and not looks_like(texts, "YYYY-MM-DD")
    assert looks_like(pa.array([None], pa.string()), "YYYY-MM-DD")
    assert looks_like(pa.array(["2026-11-01"] * 40_000), "YYYY-MM-DD")
    assert not looks_like(pa.array(["2026-11-01"] * 40_000 + ["2026-11-0a"]), "YYYY-MM-DD")
