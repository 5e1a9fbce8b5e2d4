"""Which bucket and key a request means. A key is opaque, but it is UTF-8 and not too long."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.server.gateway.wire.addressing import (
    CopySource,
    S3Address,
    checked_bucket,
    copy_source,
    parse_address,
    parse_decoded_address,
)
from lochan.server.gateway.wire.errors import S3Error

DOMAINS = ("lake.example", "s3.lake.example")


def refused(path: str) -> str:
    with pytest.raises(S3Error) as caught:
        parse_address("h", path)
    return caught.value.code


@pytest.mark.parametrize(
    "host, path, expected",
    [
        ("h:8000", "/", ("", "", False)),
        ("h", "/repo", ("repo", "", False)),
        ("h", "/repo/", ("repo", "", False)),
        ("h", "/repo/main/a%20b", ("repo", "main/a b", False)),
        ("h", "/repo//a", ("repo", "/a", False)),
        ("h", "/repo/../x/./y//", ("repo", "../x/./y//", False)),
        ("h", "/repo/a+b%2Bc", ("repo", "a+b+c", False)),
        ("h", "/repo/%2e%2e", ("repo", "..", False)),
        ("lake.example", "/repo/k", ("repo", "k", False)),
        ("s3.lake.example:8000", "/repo/k", ("repo", "k", False)),
        ("repo.lake.example", "/k", ("repo", "k", True)),
        ("REPO.S3.Lake.Example:8000", "/a/b", ("repo", "a/b", True)),
        ("a.b.s3.lake.example", "/", ("a.b", "", True)),
        ("repo.lake.example.", "//k", ("repo", "/k", True)),
        ("repo.elsewhere.example", "/b/k", ("b", "k", False)),
        ("127.0.0.1:8000", "/b/k", ("b", "k", False)),
        ("[::1]:8000", "/b/k", ("b", "k", False)),
        ("[::1]", "/b/k", ("b", "k", False)),
        ("", "/b/k", ("b", "k", False)),
    ],
)
def test_host_and_path(host: str, path: str, expected: tuple[str, str, bool]) -> None:
    assert parse_address(host, path, DOMAINS) == S3Address(*expected)


@pytest.mark.parametrize("path", ["/b/%FF", "/b/%C3", "/b/%ED%A0%80", "/b/%zz", "/b/%", "/b/%4", "/%FF/k"])
def test_what_is_not_utf_8(path: str) -> None:
    assert refused(path) == "InvalidURI"


def test_how_long_a_key_may_be() -> None:
    assert parse_address("h", "/b/" + "k" * 1024).key == "k" * 1024
    assert parse_address("h", "/b/" + "%C3%A9" * 512).key == "é" * 512
    for key in ("k" * 1025, "%C3%A9" * 513, "a/" * 1024):
        assert refused("/b/" + key) == "KeyTooLongError"


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_a_key_is_opaque(key: str) -> None:
    assert (
        parse_address("h", "/b/" + quote(key, safe="/~"))
        == parse_decoded_address("h", "/b/" + key)
        == ("b", key, False)
    )


@pytest.mark.parametrize("name", ["abc", "a-b", "a.b.c", "0" * 63, "my-repo"])
def test_names_that_can_be(name: str) -> None:
    assert checked_bucket(name) == name


@pytest.mark.parametrize("name", ["", "ab", "A" * 5, "0" * 64, "a..b", "-ab", ".ab", "a_b", "a b", "abc\n", "é" * 5])
def test_names_that_cannot_be(name: str) -> None:
    with pytest.raises(S3Error) as caught:
        checked_bucket(name)
    assert (caught.value.code, caught.value.status) == ("InvalidBucketName", 400)


@pytest.mark.parametrize(
    "header, expected",
    [
        ("/repo/main/a", ("repo", "main/a", None)),
        ("repo/main/a%20b+c", ("repo", "main/a b+c", None)),
        ("repo/a?versionId=null", ("repo", "a", "null")),
        ("repo/a%3FversionId=x", ("repo", "a?versionId=x", None)),
        ("repo//a", ("repo", "/a", None)),
    ],
)
def test_the_source_of_a_copy(header: str, expected: tuple[str, str, str | None]) -> None:
    assert copy_source(header) == CopySource(*expected)


@pytest.mark.parametrize("header", ["", "/", "repo", "repo/", "/repo/"])
def test_invalid_sources(header: str) -> None:
    with pytest.raises(S3Error) as caught:
        copy_source(header)
    assert caught.value.code == "InvalidArgument"
