"""One table orders kinds, and everything that orders values follows it: bytes of keys, queries, the reference."""

from typing import Any

import pytest

from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.pools.keys import Instant, encode
from lochan.pools.kinds import CLASSES, COMPOSITE, EVERY_NUMBER, PLACES, SIMPLE
from tests.corpus.reference.values import order
from tests.unit.query.run_query import ask

KEY = PoolSettings((PoolKey(("k",)),))
OF_KINDS: dict[str, Any] = {
    "bool": True,
    "int": -(2**63),
    "float": 1e300,
    "time": Instant(0),
    "string": "",
    "array": [],
}


def test_every_kind_has_one_place() -> None:
    assert sorted(PLACES.values()) == sorted(place for place, kinds in enumerate(CLASSES) for _ in kinds)
    assert {*SIMPLE, *COMPOSITE} == set(PLACES) and set(EVERY_NUMBER) <= set(SIMPLE)


def test_the_bytes_of_keys_rise_with_the_places() -> None:
    first = {kind: encode([value], KEY)[0] for kind, value in OF_KINDS.items()}
    places = [PLACES[kind] for kind in sorted(first, key=first.__getitem__)]
    assert places == sorted(places) and first["int"] == first["float"]


@pytest.mark.parametrize("direction", ["", "-r "])
@pytest.mark.thorough
def test_queries_order_kinds_as_the_table_does(direction: str) -> None:
    parts = "duration(x)", "ip(x)", "time(x)", "int64(x)", "bool(x)", "x"
    rows = [{"x": each} for each in ("1h", "10.0.0.1", "2026-11-01T00:00:00Z", "7", "true", "word")]
    chosen = " : ".join(f"not is_error({part}) and {part} != null ? {part}" for part in parts[:-1]) + " : x"
    found = ask(f"from p | put v := {chosen} | sort {direction}v | yield kind(v)", rows)
    expected = [kind for kind in SIMPLE if kind in found]
    assert found == (expected if not direction else expected[::-1])


@pytest.mark.parametrize("keys, expected", [("x", [1, 2]), ("-r x", [2, 1]), ("x nulls first", [1, 2])])
def test_the_float_just_above_the_greatest_int(keys: str, expected: list[int]) -> None:
    rows: list[dict[str, Any]] = [{"x": 2**63 - 1, "id": 1}, {"x": float(2**63), "id": 2}, {"x": "other"}]
    assert ask(f'from p | where kind(x) != "string" | sort {keys} | yield id', rows) == expected


def test_the_reference_orders_kinds_likewise() -> None:
    values = [True, 1, 1.5, "a", [1], {"a": 1}]
    keys = [order(value, descending=False, nulls_first=False) for value in values]
    assert keys == sorted(keys)
