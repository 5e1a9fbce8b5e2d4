"""A query gives the same rows whether objects are left out or not: the same test behind two `not`s leaves none out."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tests.run import run
from tests.unit.engines.lake import query_lake

VALUES: list[Any] = [
    *(None, True, False, 0, 1, 5, -3, 2**53 + 1, 2**53, 0.5, 5.0, -2.5, 1e300, float(2**53)),
    *("", "a", "ab", "b", "é", "5", "2026-11-01T10:00:00Z", "x" * 80, "x" * 64, "x" * 63 + "y"),
]
LITERALS = [
    *("0", "1", "5", "-3", "0.5", "5.0", "9007199254740993", "9007199254740992", "1e300", "true", "false"),
    *('"a"', '"ab"', '""', '"é"', '"5"', f'"{"x" * 80}"', f'"{"x" * 64}"', "2026-11-01T10:00:00Z"),
]
TRIES = 12


def test_nothing_is_lost(tmp_path: Path) -> None:
    chance = random.Random(7)

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
            await lake.pool("logs", *([row() for _ in range(chance.randrange(1, 6))] for _ in range(10)))
            skipped = 0
            for _ in range(TRIES):
                text = test() if chance.random() < 0.6 else f"{test()} {chance.choice(['and', 'or'])} {test()}"
                with await lake.lake.query(f"from logs | {text} | cut n") as result:
                    found = list(result.rows())
                skipped += sum(each.objects for each in result.stats.skipped)
                all = await lake.rows(f"from logs | not not ({text}) | cut n")
                assert sorted(map(str, found)) == sorted(map(str, all)), text
            assert skipped > TRIES  # or nothing was tested

    run(play())
