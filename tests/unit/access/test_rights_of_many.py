"""`allow_each` says of very many resources what `allow` says of one."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.access.rights import Rights
from lochan.access.state import Policy
from lochan.formats.access_events import Statement

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
    rights = Rights([Policy("P", tuple(statements))])
    on = [f"repository/logs/branch/main/object/{path}" for path in paths]
    found = rights.allow_each(READ, pa.array(on, pa.string())).to_pylist()
    assert found == [rights.allow(READ, each) for each in on]
