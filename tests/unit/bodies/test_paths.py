"""Which paths are accepted, and what they become in an address and in tags."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.errors import Invalid
from lochan.store.protocol import check_path
from lochan.versioning.bodies.address import ADDRESS_BYTES_MAX, SEGMENT_BYTES_MAX, Addresses, is_outside, with_path
from lochan.versioning.bodies.write import TAGS_MAX, VALUE_LENGTH_MAX, path_tags
from lochan.versioning.names import KEY_BYTES_MAX, check_key
from lochan.versioning.state.collection import mint_of
from tests.unit.store.clocks import StillClock, counting_ids

ANY_KEY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=300)

KEPT = [
    pytest.param("a", id="one letter"),
    pytest.param("/", id="only a slash"),
    pytest.param("/a/", id="slashes at both ends"),
    pytest.param("a//b", id="empty segment"),
    pytest.param("../../etc/passwd", id="dots that would leave"),
    pytest.param("./.", id="dots"),
    pytest.param("line\nbreak\r\t\x7f", id="control characters"),
    pytest.param("\u00e9", id="composed"),
    pytest.param("e\u0301", id="decomposed"),
    pytest.param("🦆/\U0010ffff", id="outside the basic plane"),
    pytest.param("100%/%2e%2e/\\/*?", id="escapes and globs"),
    pytest.param(".tmp/x", id="the local store's own folder"),
    pytest.param("k" * 1024, id="1,024 bytes"),
    pytest.param("é" * 512, id="1,024 bytes of two-byte letters"),
]

REFUSED = [
    pytest.param("", "empty", id="empty"),
    pytest.param("a\0b", "NUL", id="nul"),
    pytest.param("k" * 1025, "1025 bytes is too long", id="1,025 bytes"),
    pytest.param("é" * 513, "1026 bytes is too long", id="1,026 bytes of two-byte letters"),
    pytest.param("lone\ud800", "not valid Unicode", id="lone surrogate"),
    pytest.param(b"caf\xe9".decode(errors="surrogateescape"), "not valid Unicode", id="not UTF-8"),
]


@pytest.mark.parametrize("path", KEPT)
def test_a_path_is_kept_byte_for_byte(path: str) -> None:
    assert check_key(path) == path.encode()


@pytest.mark.parametrize("path, why", REFUSED)
def test_a_path_is_refused(path: str, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        check_key(path)


def test_addresses() -> None:
    made = {style: _addresses(style).new("tables/é.parquet", 42) for style in ("id", "path")}
    assert made["id"] == "repo/data/00000000000000000042-writer/2YBXZL760qlxshhSYoXdhboPmND"
    assert made["path"] == f"{made['id']}/tables/é.parquet"


def test_no_address_is_given_twice() -> None:
    addresses = _addresses("path")
    assert len({addresses.new("a", 1) for _ in range(100)}) == 100


def test_a_folder_is_kept_until_the_next_plan() -> None:
    plan = 0
    addresses = Addresses("repo", "writer", StillClock(), counting_ids(), last_plan=lambda: plan)
    mints = [7, 8]
    assert [_mint(addresses, mint) for mint in mints] == [7, 7]
    plan = 9
    assert _mint(addresses, 10) == 10
    assert _mint(addresses, 8) == 8, "a job that began before the plan has its own number"
    assert _mint(addresses, 12) == 10, "and does not take others back to it"


def _mint(addresses: Addresses, mint: int) -> int:
    return mint_of(addresses.new("a", mint))


def test_an_address_style_that_is_none() -> None:
    with pytest.raises(Invalid, match="'hash' is not an address style"):
        _addresses("hash")


@pytest.mark.parametrize(
    "path, written",
    [
        pytest.param("a/b c", "a/b c", id="as it is"),
        pytest.param("../../x", "%2E%2E/%2E%2E/x", id="leaving"),
        pytest.param("./.x/...", "%2E/.x/..%2E", id="dots that are a segment, or end one"),
        pytest.param("a\\b", "a%5Cb", id="a backslash, which Azure takes for a slash"),
        pytest.param("/a//b/", "%/a/%/b/%", id="empty segments"),
        pytest.param("a%2Fb", "a%252Fb", id="percent"),
        pytest.param("a\nb\x7f", "a%0Ab%7F", id="control characters"),
        pytest.param("s3://x", "s3:/%/x", id="like a URL"),
    ],
)
def test_a_path_in_an_address(path: str, written: str) -> None:
    assert with_path("r/data/1-w/id", path) == f"r/data/1-w/id/{written}"


@pytest.mark.thorough
@settings(deadline=None)
@given(ANY_KEY)
def test_every_store_takes_every_address(path: str) -> None:
    address = _addresses("path").new(path, 2**63)
    assert len(check_path(address)) <= ADDRESS_BYTES_MAX
    assert all(len(segment.encode()) <= SEGMENT_BYTES_MAX for segment in address.split("/"))
    assert not is_outside(address)


@pytest.mark.thorough
@settings(deadline=None)
@given(ANY_KEY, ANY_KEY)
def test_paths_that_fit_stay_apart(left: str, right: str) -> None:
    if left != right and max(map(len, (left, right))) < 60:  # at most 12 bytes for a letter
        assert with_path("id", left) != with_path("id", right)


def test_a_long_path_loses_its_end() -> None:
    deep = with_path("id", "/".join(["folder"] * 146))
    assert deep == "/".join(["id", *["folder"] * 109])
    assert with_path("id", "é" * 200) == "id/" + "é" * 127
    assert with_path("id", "x" * 254 + "%") == "id/" + "x" * 254


def test_tags() -> None:
    assert path_tags("foo/bar/baz.parquet") == {"path.0": "foo", "path.1": "bar", "path.2": "baz.parquet"}
    assert path_tags("day=1//é@%") == {"path.0": "day=1", "path.1": "", "path.2": "/C3/A9/40/25"}
    assert list(path_tags("/".join("abcdefghijklm"))) == [f"path.{number}" for number in range(TAGS_MAX)]


def test_a_long_tag_is_cut_and_says_so() -> None:
    assert path_tags("x" * 256) == {"path.0": "x" * 256}
    assert path_tags("x" * 257) == {"path.0": "x" * 255 + "/"}
    assert path_tags("é" * 50) == {"path.0": "/C3/A9" * 42 + "/C3" + "/"}


@settings(deadline=None)
@given(ANY_KEY)
def test_tags_are_what_stores_take(path: str) -> None:
    tags = path_tags(path)
    assert len(tags) <= TAGS_MAX
    for value in tags.values():
        assert len(value) <= VALUE_LENGTH_MAX
        assert re.fullmatch(r"[a-zA-Z0-9 +\-=._:/]*", value)


def test_the_limit_is_that_of_s3() -> None:
    assert KEY_BYTES_MAX == 1024


def _addresses(style: str) -> Addresses:
    return Addresses("repo", "writer", StillClock(), counting_ids(), style)  # type: ignore[arg-type]
