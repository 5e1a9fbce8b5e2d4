"""`allow_each` decides about very many resources as `allow` decides about one."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.access.rights import Rights
from lochan.access.state import AccessPolicy
from lochan.formats.lake_events import Statement

READ = "fs:ReadObject"
PIECES = st.sampled_from(
    ["a", "b", "*", "?", "/", ".csv", "(?>", "+", "[x]", "\\", "$", "^", "|", "ü", "\n", " #", "-"]
)
PATHS = st.lists(PIECES, max_size=6).map("".join)
NAMES = st.sampled_from(["logs", "l*", "*", "lo?s"])
PATTERNS = st.one_of(
    st.just("*"),
    st.builds("repository/{}/branch/main/object/{}".format, NAMES, PATHS),
    st.builds("repository/{}/object/{}".format, NAMES, PATHS),
    st.builds("repository/{}/*".format, NAMES),
    st.builds("repository/{}/branch/{}/*".format, NAMES, NAMES),
)


@settings(deadline=None)
@given(st.lists(PATTERNS, max_size=3), st.lists(PATTERNS, max_size=2), st.lists(PATHS, max_size=8))
def test_as_one_by_one(allowed: list[str], denied: list[str], paths: list[str]) -> None:
    statements = [
        *([Statement("allow", (READ,), tuple(allowed))] if allowed else []),
        *([Statement("deny", ("fs:*",), tuple(denied))] if denied else []),
    ]
    rights = Rights([AccessPolicy("P", tuple(statements))])
    on = [f"repository/logs/branch/main/object/{path}" for path in paths]
    found = rights.allow_each(READ, pa.array(on, pa.string())).to_pylist()
    assert found == [rights.allow(READ, each) for each in on]


@settings(deadline=None, max_examples=300)
@given(st.lists(PATTERNS, max_size=3), st.lists(PATTERNS, max_size=2), PATHS, st.lists(PATHS, max_size=8))
@pytest.mark.thorough
def test_a_decision_for_a_prefix_holds_for_each_path(
    allowed: list[str], denied: list[str], front: str, rest: list[str]
) -> None:
    statements = [
        *([Statement("allow", (READ,), tuple(allowed))] if allowed else []),
        *([Statement("deny", ("fs:*",), tuple(denied))] if denied else []),
    ]
    rights = Rights([AccessPolicy("P", tuple(statements))])
    below = f"repository/logs/branch/main/object/{front}"
    each = {rights.allow(READ, below + more) for more in ("", *rest)}
    assert rights.allow_below(READ, below) in (None, *each) or not each
    assert rights.allow_below(READ, below) is None or each == {rights.allow_below(READ, below)}
    if any(not rights.allow(READ, below + more) for more in rest) and rights.allow_below(READ, below):
        raise AssertionError("one of them is not allowed")


def test_the_usual_policies_are_answered_at_once() -> None:
    main = "repository/logs/branch/main/object/"
    secret = Statement("deny", ("fs:*",), ("repository/logs/object/secret/*",))
    for pattern in ("*", "repository/*", "repository/logs/*", "repository/logs/object/*", f"{main}*"):
        allow = Statement("allow", (READ,), (pattern,))
        assert Rights([AccessPolicy("P", (allow,))]).allow_below(READ, main) is True
        partly = Rights([AccessPolicy("P", (allow, secret))])
        fronts = (main, f"{main}data/", f"{main}secret/", f"{main}secret/deep/", f"{main}sec")
        assert [partly.allow_below(READ, front) for front in fronts] == [None, True, False, False, None]


def test_a_denied_path_counts_for_what_is_asked_of_all_branches() -> None:
    """A pattern of a path at any ref has no ref in it, and still meets each of them."""
    denied = "repository/logs/object/secret/*"
    rights = Rights([AccessPolicy("P", (Statement("allow", ("*",), ("*",)), Statement("deny", ("fs:*",), (denied,))))])
    for front in (
        "repository/logs/",
        "repository/logs/branch/",
        "repository/logs/branch/ma",
        "repository/logs/tag/v1/",
    ):
        assert rights.allow_below(READ, front) is None, front
    assert rights.allow_below(READ, "repository/logs/branch/main/object/open/") is True
    assert rights.allow_below(READ, "repository/logs/branch/main/object/secret/") is False
    assert rights.allow_below(READ, "repository/other/branch/") is True
