"""Rows of any shape, for Hypothesis."""

from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "c", "A", "x#i", "#", "", "_shape", "_body", "é", "a.b", "a:int"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 70), 1 << 70),
    st.sampled_from([0, 1, -1, (1 << 53) + 1, (1 << 63) - 1, -(1 << 63), 1 << 63]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(["2026-11-01T10:00:00Z", "1", "true", "null", '"', "\\", "\u2028"]),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=8,
)
ROWS = st.dictionaries(NAMES, VALUES, max_size=6)
