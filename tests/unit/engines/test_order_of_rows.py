"""A pool whose key is the whole row gives its rows in their order, however many objects they came in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lochan.formats.pool_settings import PoolKey, PoolSettings
from tests.run import run
from tests.unit.engines.lake import query_lake

BY_ROW = PoolSettings(times=(("t",),))
ROWS: list[dict[str, Any]] = [
    {"a": 1},
    {"a": 10, "b": None},
    {"b": {"y": 1, "x": [1, 2]}, "a": 1},
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


def test_rows_by_themselves(tmp_path: Path) -> None:
    """As one object has them, which a load has sorted."""

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
            with await lake.lake.query("from rows | head 2") as result:
                assert list(result.rows()) == [{"a": 1}, {"a": 2}]
            assert result.stats.objects_read == 1
            found = await lake.rows("from rows:objects | cut min, max")
            assert found == [{"min": {"a": 1}, "max": {"a": 2}}, {"min": {"a": 3}, "max": {"a": 4}}]

    run(play())


def test_a_key_with_a_part_that_is_no_scalar(tmp_path: Path) -> None:
    """The other part still tells where its rows are."""
    by_two = PoolSettings((PoolKey(("a",)), PoolKey(("b",))))

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            loads: list[list[dict[str, Any]]] = [
                [{"a": 1, "b": {"x": 1}}, {"a": 2, "b": 5}],
                [{"a": 3, "b": [1]}, {"a": 4, "b": 1}],
                [{"a": 2, "b": "s"}],
            ]
            await lake.pool("rows", *loads, settings=by_two)
            with await lake.lake.query("from rows | a == 2") as result:
                assert list(result.rows()) == [{"a": 2, "b": 5}, {"a": 2, "b": "s"}]
            assert result.stats.objects_read == 2

    run(play())
