"""A pool gives its rows in the order of its key, however many objects they are in."""

from __future__ import annotations

import random
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from lochan.api.queries import run_query
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.jobs.compaction import compact
from lochan.pools import keys
from lochan.pools.json_row import row_text
from tests.run import run
from tests.unit.engines.lake import ANN, query_lake

BY_ROW = PoolSettings(times=(("t",),))
ROWS: list[dict[str, Any]] = [
    {"a": 1},
    {"a": 10, "b": None},
    {"b": {"y": 1, "x": [1, 2]}, "a": 1},
    {"b": {"x": [3]}, "a": 1},
    {"a": "text", "Ä": True},
    {"a": 2.5},
    {"t": "2026-11-01T10:00:00Z"},
    {"t": "2026-11-01T10:00:00.5Z"},
    {"t": "early"},
    {"b": {}},
    {"b": [1, {"z": 0}]},
    {"b": 3},
    {"a": None},
    {},
]


@pytest.mark.thorough
def test_rows_by_themselves(tmp_path: Path) -> None:
    """As in one object, which a load has sorted."""

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            down = PoolSettings((PoolKey(descending=True),), times=BY_ROW.times)
            for name, settings in (("rows", BY_ROW), ("down", down)):
                await lake.pool(f"one-{name}", ROWS, settings=settings)
                await lake.pool(f"many-{name}", *(ROWS[at::4] for at in range(4)), settings=settings)
                in_order = await lake.rows(f"from one-{name}")
                assert len(in_order) == len(ROWS)
                assert await lake.rows(f"from many-{name}") == in_order
                for count in (1, 5, 9):
                    assert await lake.rows(f"from many-{name} | head {count}") == in_order[:count]
                assert await lake.rows(f"from many-{name} | cut a") == await lake.rows(f"from one-{name} | cut a")
            assert await lake.rows("from one-down") == (await lake.rows("from one-rows"))[::-1]

    run(play())


def test_the_span_of_whole_rows(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("rows", [{"a": 3}, {"a": 4}], [{"a": 1}, {"a": 2}], settings=BY_ROW)
            with await run_query(lake.lake, "from rows | head 2") as result:
                assert list(result.rows()) == [{"a": 1}, {"a": 2}]
            assert result.stats.objects_read == 1
            found = await lake.rows("from rows:objects | cut min, max")
            assert found == [{"min": {"a": 1}, "max": {"a": 2}}, {"min": {"a": 3}, "max": {"a": 4}}]

    run(play())


def test_a_key_with_a_part_that_is_no_scalar(tmp_path: Path) -> None:
    """The other part still determines where its rows are."""
    by_two = PoolSettings((PoolKey(("a",)), PoolKey(("b",))))

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            loads: list[list[dict[str, Any]]] = [
                [{"a": 1, "b": {"x": 1}}, {"a": 2, "b": 5}],
                [{"a": 3, "b": [1]}, {"a": 4, "b": 1}],
                [{"a": 2, "b": "s"}],
            ]
            await lake.pool("rows", *loads, settings=by_two)
            with await run_query(lake.lake, "from rows | a == 2") as result:
                assert list(result.rows()) == [{"a": 2, "b": 5}, {"a": 2, "b": "s"}]
            assert result.stats.objects_read == 2

    run(play())


KEYS: list[Any] = [
    *(None, True, False, 0, 1, 5, -3, 2**53 + 1, 2**53, 2**54 - 1, 2**63 - 1, -(2**63), 0.5, 5.0, -2.5, 1e300),
    *(
        float(2**53),
        float(2**54),
        float(2**63),
        "",
        "a",
        "ab",
        "é",
        "Z",
        "2026-11-01T10:00:00Z",
        "2026-11-01T10:00:01.5Z",
    ),
    *({}, {"a": 1}, {"b": 2, "a": 1}, {"a": "x", "b": None}, {"a": {"d": [1], "c": True}}, {"a": {}}, {"a": 0.5}),
    *([], [1], [1, 2], ["x"], [None], [[1], [2]], [{"b": 1, "a": 2}], [1, "x"], 2**70, {"b": {"z": 2**70, "a": 1}}),
    *({"a": "2026-11-01T10:00:00Z"}, {"a": [1, "x"]}, {"é": '\u0001"\\'}, [0.5, 2.5]),
]


def ordered_text(value: Any) -> str:
    """Names in order, but in lists."""
    if isinstance(value, dict):
        return f"{{{','.join(f'{row_text(name)}:{ordered_text(value[name])}' for name in sorted(value))}}}"
    return row_text(value)


def place(row: dict[str, Any], settings: PoolSettings) -> bytes:
    """The position of the row, by the bytes of its key."""
    found = b""
    for key in settings.keys:
        value = row.get(key.path[0])
        if isinstance(value, dict | list):
            found += keys.text_part(ordered_text(value), key)
        elif isinstance(value, str) and key.path in settings.times and value.startswith("2026"):
            found += keys.part(datetime.fromisoformat(value), key, settings)
        else:
            found += keys.part(value, key, settings)
    return found


@pytest.mark.thorough
@pytest.mark.parametrize(
    "parts, nulls_first",
    [
        pytest.param([("k", False)], False, id="up, nulls last"),
        pytest.param([("k", False)], True, id="up, nulls first", marks=pytest.mark.full),
        pytest.param([("k", True)], False, id="down, nulls last", marks=pytest.mark.full),
        pytest.param([("k", True)], True, id="down, nulls first", marks=pytest.mark.full),
        pytest.param([("k", False), ("l", True)], False, id="by two, nulls last", marks=pytest.mark.full),
        pytest.param([("k", False), ("l", True)], True, id="by two, nulls first"),
    ],
)
def test_keys_of_every_kind_have_one_order(tmp_path: Path, parts: list[tuple[str, bool]], nulls_first: bool) -> None:
    """Within an object, across those that overlap, and when they have become one."""
    chance = random.Random(11)
    settings = PoolSettings(
        tuple(PoolKey((name,), down) for name, down in parts), nulls_first=nulls_first, times=(("k",),)
    )

    def rows(count: int, among: list[Any]) -> list[dict[str, Any]]:
        made = []
        for _ in range(count):
            fields = {"n": chance.randrange(10**9), "k": chance.choice(among), "l": chance.choice(KEYS)}
            names = chance.sample(list(fields), 3)
            made.append({name: fields[name] for name in names if name == "n" or chance.random() < 0.95})
        return made

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            some = [chance.sample(KEYS, count) for count in (3, 8, 20)]
            objects = [each for each in KEYS if isinstance(each, dict)]
            loads = [rows(12, among) for among in (*some, KEYS, objects, [[1], [0], []], [None, {"b": 1}])]
            loads.append([{**row, "a": 1, "A": 1} for row in rows(12, KEYS)])  # kept as text
            await lake.pool("many", *loads, settings=settings)
            await lake.pool("one", [row for rows in loads for row in rows], settings=settings)
            await lake.pool("merged", *loads, settings=settings)
            repository = await lake.lake.open_repository("merged")
            await compact(repository, "main", lake.lake.queries(), actor=ANN)
            await repository.close()
            for name in ("many", "one", "merged"):
                found = await lake.rows(f"from {name}")
                assert len(found) == sum(map(len, loads))
                places = [place(row, settings) for row in found]
                wrong = [at for at in range(1, len(found)) if places[at - 1] > places[at]]
                assert not wrong, [(found[at - 1], found[at]) for at in wrong[:2]]
                for count in (1, 5, 17, 40):
                    head = await lake.rows(f"from {name} | head {count}")
                    assert [place(row, settings) for row in head] == places[:count]
                keyless = await lake.rows(f"from {name}.$nokey | cut n")
                without = [row for row in found if any(row.get(key.path[0]) is None for key in settings.keys)]
                assert sorted(row["n"] for row in keyless) == sorted(row["n"] for row in without)

    run(play())
