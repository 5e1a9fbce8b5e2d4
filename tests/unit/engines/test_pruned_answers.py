"""A query gives the same rows whether objects are left out or not: the same test behind two `not`s leaves none out."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.query.errors import QueryError
from lochan.query.sources import snapshot
from lochan.tree.cut import Cut
from lochan.versioning import open_repository
from tests.run import run
from tests.unit.engines.lake import BY_K, query_lake

VALUES: list[Any] = [
    *(None, True, False, 0, 1, 5, -3, 2**53 + 1, 2**53, 0.5, 5.0, -2.5, 1e300, float(2**53)),
    *("", "a", "ab", "b", "é", "5", "2026-11-01T10:00:00Z", "x" * 80, "x" * 64, "x" * 63 + "y"),
]
LITERALS = [
    *("0", "1", "5", "-3", "0.5", "5.0", "9007199254740993", "9007199254740992", "1e300", "true", "false"),
    *('"a"', '"ab"', '""', '"é"', '"5"', f'"{"x" * 80}"', f'"{"x" * 64}"', "2026-11-01T10:00:00Z"),
]
TRIES = 12


BY_TWO = PoolSettings((PoolKey(("k",)), PoolKey(("s",), descending=True)))


@pytest.mark.parametrize(
    "settings, many_ranges",
    [
        pytest.param(BY_K, False, id="in one range"),
        pytest.param(BY_K, True, id="in many ranges"),
        pytest.param(BY_TWO, True, id="by two keys"),
    ],
)
def test_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: PoolSettings, many_ranges: bool
) -> None:
    chance = random.Random(7)
    if many_ranges:
        monkeypatch.setattr(open_repository, "POOLS", Cut(1, 1, 2))
        monkeypatch.setattr(snapshot, "_KEPT", 0)  # each query opens anew what it needs

    def row() -> dict[str, Any]:
        made: dict[str, Any] = {"n": chance.randrange(1_000_000)}
        if chance.random() < 0.9:
            made["k"] = chance.choice(VALUES)
        if chance.random() < 0.7:
            made["s"] = chance.choice(VALUES)
        if chance.random() < 0.5:
            made["b"] = {"c": chance.choice(VALUES)} if chance.random() < 0.8 else chance.choice(VALUES)
        return made

    def test() -> str:
        field = chance.choice(["k", "k", "s", "b.c", "n"])
        match chance.randrange(4):
            case 0:
                return f"{field} in [{chance.choice(LITERALS)}, {chance.choice(LITERALS)}]"
            case 1:
                return f"{field} between {chance.choice(LITERALS)} and {chance.choice(LITERALS)}"
        return f"{field} {chance.choice(['==', '<', '<=', '>', '>='])} {chance.choice(LITERALS)}"

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            loads = ([row() for _ in range(chance.randrange(1, 6))] for _ in range(10))
            await lake.pool("logs", *loads, settings=settings)
            skipped = 0
            for _ in range(TRIES):
                text = test() if chance.random() < 0.6 else f"{test()} {chance.choice(['and', 'or'])} {test()}"
                text = f"k == {chance.choice(LITERALS)} and {text}" if settings == BY_TWO else text
                with await lake.lake.query(f"from logs | {text} | cut n") as result:
                    found = list(result.rows())
                skipped += sum(each.objects for each in result.stats.skipped)
                all = await lake.rows(f"from logs | not not ({text}) | cut n")
                assert sorted(map(str, found)) == sorted(map(str, all)), text
            assert skipped > TRIES  # or nothing was tested
            whole = await lake.rows("from logs | cut k")
            for count in (1, 2, 5, 9, 100):
                assert await lake.rows(f"from logs | head {count} | cut k") == whole[:count]
            for low, high in (("0", "5"), ("0.5", "9007199254740992"), ('"a"', '"b"')):
                found = await lake.rows(f"from logs range {low} to {high} | cut n")
                whole_key = " and has(s) and s != null" if settings == BY_TWO else ""
                all = await lake.rows(f"from logs | not not (k >= {low} and k <= {high}{whole_key}) | cut n")
                assert sorted(map(str, found)) == sorted(map(str, all)), low

    run(play())


def test_fields_of_what_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A field that only rows have which need not be read is no mistake; one that none has is."""
    monkeypatch.setattr(open_repository, "POOLS", Cut(1, 1, 1))  # a range for each object

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", [{"k": 1, "a": 1}], [{"k": 2, "b": 2}], [{"k": 3, "c": 3}])
            for rest in ("k == 1", "head 1", "k > 100", "k == 1 | head 1"):
                found = [{"b": 5}] if "100" not in rest else []
                assert await lake.rows(f"from logs | {rest} | put b:=coalesce(b, 5) | cut b") == found
                with pytest.raises(QueryError, match="unknown field `d`"):
                    await lake.rows(f"from logs | {rest} | cut d")
            assert await lake.rows("select * from logs where k = 2") == [{"k": 2, "a": None, "b": 2, "c": None}]

    run(play())
