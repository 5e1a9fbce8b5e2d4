"""A lake of one's own, and one with a repository and a pool in it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import lochan
from lochan.api.handles import close_shared_lakes
from lochan.lake import Lake as OpenLake
from lochan.store.local import LocalStore


@pytest.fixture(autouse=True)
def _shared_lakes() -> Iterator[None]:
    yield
    close_shared_lakes()


async def _made(folder: Path) -> None:
    await (await OpenLake.create(LocalStore(str(folder), create=True))).close()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where there is an empty lake."""
    asyncio.run(_made(tmp_path / "lake"))
    return tmp_path / "lake"


@pytest.fixture
def address(place: Path) -> dict[str, str]:
    """What opens the lake, as options of `lochan://`."""
    return {"lake": str(place), "user": "ann"}


@pytest.fixture
def lake(place: Path) -> Iterator[lochan.Lake]:
    with lochan.connect(place, user="ann") as found:
        yield found


@pytest.fixture
def shop(lake: lochan.Lake) -> lochan.Repository:
    made = lake.create_repository("shop")
    with made.branch("main").transaction("first data") as tx:
        tx.put("raw/fruit.csv", b"id,name\n1,pear\n")
        tx.put("README.md", "# Shop\n")
    return made
