"""The verbs on an event loop of one's own."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import lochan
from lochan.errors import NotFound


@pytest.fixture
def opening(address: dict[str, str]) -> dict[str, Any]:
    return {("place" if name == "lake" else name): value for name, value in address.items()}


def test_a_lake_for_a_block(lake: lochan.Lake, opening: dict[str, Any]) -> None:
    async def work() -> list[str]:
        async with lochan.aio.connect(**opening) as own:
            main = (await own.create_repository("shop")).branch("main")
            async with main.transaction("first data") as tx:
                await asyncio.gather(tx.put("a", b"1"), tx.put("b", b"2"))
            assert (await main.resolve()).author == "ann"
            assert await main.read("b") == b"2"
            return [each.message async for each in main.log()]

    assert asyncio.run(work()) == ["first data", "Repository created"]


def test_a_lake_that_one_closes_oneself(lake: lochan.Lake, opening: dict[str, Any], tmp_path: Path) -> None:
    async def work() -> None:
        own = await lochan.aio.connect(**opening)
        assert [each async for each in own.repositories()] == []
        await own.close()
        with pytest.raises(NotFound):
            await lochan.aio.connect(tmp_path / "nowhere")

    asyncio.run(work())
