"""Places outside the lake, as people write them."""

from pathlib import Path

import pytest

from lochan.cli.places import place_url
from lochan.errors import Invalid


@pytest.mark.parametrize("url", ["s3://bucket", "s3://bucket/a=b/c d", "gs://b/k", "az://c/k", "file:///x%25"])
def test_a_url_stays_as_it_is(url: str) -> None:
    assert place_url(url) == url


def test_a_path_becomes_a_url(newcomer: Path) -> None:
    assert place_url("data/100% in/") == f"file://{newcomer.resolve()}/data/100%25 in"
    assert place_url("/x/../y") == "file:///y"
    assert place_url(".") == f"file://{newcomer.resolve()}"


@pytest.mark.parametrize("text", ["", "http://host/x", "s3://", "memory://x", "://x"])
def test_what_is_no_place(text: str) -> None:
    with pytest.raises(Invalid):
        place_url(text)
