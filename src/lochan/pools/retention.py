"""Retention rules about rows: spans of a pool's key, and rows whose key is a time that is long past."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Invalid
from lochan.formats.collection_events import DropRule, RetentionSet
from lochan.formats.pool_settings import PoolSettings, path_text
from lochan.pools import keys
from lochan.pools.facts import spans
from lochan.versioning.collection.drops import DAY_US
from lochan.versioning.collection.written import Mask

_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def check_spans(event: RetentionSet, settings: PoolSettings) -> None:
    """Raises Invalid for a span that is empty, or that does not fit this pool's key."""
    for rule in event.drops:
        if rule.older_days and event.holds:
            raise Invalid(
                f"the rule {rule.name!r} drops rows, and what a branch holds is known by data objects alone",
                hint="leave out one of the two",
            )
        if (rule.low or rule.high or rule.older_days) and not settings.keys[0].path:
            raise Invalid(
                f"the rule {rule.name!r}: the key of this pool is the whole record", hint="leave out the span"
            )
        low, high = (_value(end) if end else None for end in (rule.low, rule.high))
        if low is None or high is None:
            continue
        if type(low) is not type(high):
            raise Invalid(f"the rule {rule.name!r}: {rule.low} and {rule.high} are of different kinds")
        if low > high:
            raise Invalid(f"the rule {rule.name!r}: nothing lies between {rule.low} and {rule.high}")


def within_span(settings: PoolSettings) -> Callable[[DropRule, pa.RecordBatch], Mask]:
    """Returns a test for data objects that lie wholly in the span of a rule."""

    def within(rule: DropRule, batch: pa.RecordBatch) -> Mask:
        if not (rule.low or rule.high):
            return np.ones(len(batch), np.bool_)
        low, high = (_key(end) if end else None for end in (rule.low, rule.high))
        span = keys.bounds(low, high, settings)
        found = spans(pa.Table.from_batches([batch]))
        inside = pc.and_(pc.greater_equal(found["min"], span.low.hex()), pc.less_equal(found["max"], span.high.hex()))
        inside = pc.and_(inside, pc.and_(pc.not_equal(found["min"], ""), pc.equal(found["keyless"], 0)))
        mask: Mask = pc.fill_null(inside, False).to_numpy()
        return mask

    return within


def older_rows(rule: DropRule, before: list[DropRule], settings: PoolSettings, now: int) -> str:
    """Returns the rows that a rule drops, as an expression of the query language, without rows about which an earlier
    rule decides."""
    name = path_text(settings.keys[0].path)
    past = datetime.fromtimestamp((now - round(rule.older_days * DAY_US)) // 1_000_000, UTC)
    terms = [f"{name} < {past:%Y-%m-%dT%H:%M:%SZ}", *_span_tests(rule, name)]
    terms += [f"not ({' and '.join(_span_tests(each, name) or ['true'])})" for each in before]
    return " and ".join(terms)


def _span_tests(rule: DropRule, name: str) -> list[str]:
    low = [f"{name} >= {_literal(rule.low)}"] if rule.low else []
    return [*low, *([f"{name} <= {_literal(rule.high)}"] if rule.high else [])]


def _literal(text: str) -> str:
    value = _value(text)
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    return text if isinstance(value, float) else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _value(text: str) -> Any:
    if _NUMBER.fullmatch(text):
        return float(text)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return text
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _key(text: str) -> Any:
    value = _value(text)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
