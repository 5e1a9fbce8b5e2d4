"""Times, and locations outside the lake, as arguments of the command line."""

from pathlib import Path

import pytest

from lochan.api.local_files import place_url
from lochan.api.results import microseconds
from lochan.cli.options import time
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
    parsed = time("--since", text)
    assert (None if parsed is None else microseconds(parsed)) == found


def test_invalid_times() -> None:
    with pytest.raises(Invalid, match="--since 'soon': not a time"):
        time("--since", "soon")


@pytest.mark.parametrize("url", ["s3://bucket", "s3://bucket/a=b/c d", "gs://b/k", "az://c/k", "file:///x%25"])
def test_a_url_stays_as_it_is(url: str) -> None:
    assert place_url(url) == url


def test_a_path_becomes_a_url(newcomer: Path) -> None:
    assert place_url("data/100% in/") == f"file://{newcomer.resolve()}/data/100%25 in"
    assert place_url("/x/../y") == "file:///y"
    assert place_url(".") == f"file://{newcomer.resolve()}"


@pytest.mark.parametrize("text", ["", "http://host/x", "s3://", "memory://x", "://x"])
def test_invalid_places(text: str) -> None:
    with pytest.raises(Invalid):
        place_url(text)
