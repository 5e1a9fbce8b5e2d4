"""Any rows come back unchanged: their fields, the order of fields, kinds and values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.query.run_query import ask

NAMES = st.sampled_from(["a", "b", "c", "odd name", "d.e", "#x", "ü"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
ROWS = st.lists(st.dictionaries(NAMES, VALUES, max_size=4), min_size=1, max_size=5)


@pytest.mark.thorough
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ROWS)
def test_rows_come_back(rows: list[dict[str, Any]]) -> None:
    assert written(ask("from p", rows)) == written(rows)
    assert written(ask("from p | yield this", rows)) == written(rows)
    assert written(ask("from p | union (from p | head 0)", rows)) == written(rows)


@pytest.mark.thorough
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ROWS)
def test_uniq_and_sorted_groups_lose_nothing(rows: list[dict[str, Any]]) -> None:
    rows = [*rows, {"a": 1}]
    assert ask("from p | count()", rows) == [{"count": len(rows)}]
    groups = ask("from p | count() by a", rows)
    assert sum(each["count"] for each in groups) == len(rows)
    assert len(ask("from p | sort a", rows)) == len(rows)
    counted = ask("from p | uniq -c", rows)
    assert sum(each["count"] for each in counted) == len(rows)


def written(value: Any) -> str:
    """With the order of fields, and 1 apart from 1.0."""
    return repr(value)
