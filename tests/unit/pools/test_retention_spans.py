"""Spans of a pool's key in retention rules: what lies in them, and what is no span."""

import pytest

from lochan.errors import Invalid
from lochan.formats.collection_events import DropRule, RetentionSet
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.pools.retention import check_spans, older_rows

BY_TS = PoolSettings((PoolKey(("ts",)),))
DAY_US = 86_400_000_000


@pytest.mark.parametrize(
    "rule, holds, said",
    [
        pytest.param(DropRule("a", "main", low="5", high="3", never=True), (), "nothing lies", id="backwards"),
        pytest.param(DropRule("a", "main", low="5", high="x", never=True), (), "kinds", id="a number and a text"),
        pytest.param(DropRule("a", "main", older_days=1), ("release",), "data objects alone", id="rows and a hold"),
    ],
)
def test_what_is_refused(rule: DropRule, holds: tuple[str, ...], said: str) -> None:
    with pytest.raises(Invalid, match=said):
        check_spans(RetentionSet(drops=(rule,), holds=holds), BY_TS)


def test_a_pool_whose_key_is_the_whole_record_has_no_spans() -> None:
    with pytest.raises(Invalid, match="whole record"):
        check_spans(RetentionSet(drops=(DropRule("a", "main", older_days=1),)), PoolSettings())


def test_rows_that_an_earlier_rule_decides_about_are_left_out() -> None:
    spare = DropRule("spare", "main", low="2020-01-01", high="2020-12-31", never=True)
    old = DropRule("old", "main", older_days=10)
    assert older_rows(old, [], BY_TS, 20 * DAY_US) == "ts < 1970-01-11T00:00:00Z"
    text = older_rows(old, [spare], BY_TS, 20 * DAY_US)
    assert text.endswith("not (ts >= 2020-01-01T00:00:00.000000Z and ts <= 2020-12-31T00:00:00.000000Z)")
