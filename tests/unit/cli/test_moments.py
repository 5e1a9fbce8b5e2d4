"""Moments as they are given on the command line."""

import pytest

from lochan.cli.moments import microseconds
from lochan.errors import Invalid


@pytest.mark.parametrize(
    "text, found",
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01", 1_000_000),
        ("1970-01-01T01:00:00.000001+01:00", 1),
        ("1970-01-02T00:00Z", 86_400_000_000),
        ("1969-12-31T23:59:59Z", -1_000_000),
        (None, None),
    ],
)
def test_a_moment(text: str | None, found: int | None) -> None:
    assert microseconds("--since", text) == found


def test_what_is_no_moment() -> None:
    with pytest.raises(Invalid, match="--since 'soon': this is no time"):
        microseconds("--since", "soon")
