"""Changes of a pool survive the end of its process at every step: no row is lost, duplicated or restored."""

import asyncio
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lochan.errors import NotFound
from tests.kill.child import Order
from tests.kill.harness import failpoints_in_source
from tests.kill.life import live
from tests.kill.pool_child import STATES, done, opened, rows

PREFIXES = ("body.", "move.", "append.before_put", "append.after_put")


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(
        prefix="lochan-kill-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None
    ) as name:
        yield Path(name)


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.full)])
def test_killed_at_every_step(folder: Path, every: bool) -> None:
    passed = _live(folder / "dry")
    assert passed is not None
    asyncio.run(_judge(folder / "dry", finished=True))
    names = {name for name in failpoints_in_source() if name.startswith(PREFIXES)} & passed.keys()
    assert {"body.after_put", "move.computed", "move.landed", "append.before_put", "append.after_put"} <= names
    times = {name: range(1, count + 1) if every else {count // 2 + 1, count} for name, count in passed.items()}
    trials = [(name, n) for name in sorted(names) for n in sorted(times[name])]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda trial: _try(folder / f"{trial[0]}-{trial[1]}", *trial), trials))


def _try(folder: Path, at: str, passing: int) -> None:
    assert _live(folder, at, passing) is None, "it was to die"
    asyncio.run(_judge(folder, finished=False))
    assert _live(folder) is not None, "the next life goes on"
    asyncio.run(_judge(folder, finished=True))


def _live(folder: Path, at: str = "", passing: int = 1) -> dict[str, int] | None:
    """How often each failpoint was passed, or None if the process was killed there."""
    order = Order(str(folder / "lake"), "", seed=1, life=0, at=at, passing=passing)
    return live("pool_child", order)


async def _judge(folder: Path, *, finished: bool) -> None:
    lake = await opened(str(folder / "lake"))
    try:
        pool = await lake.open_repository("logs")
        found = await rows(lake)
        names = [name for name in await done(pool, "main") if name in ("one", "two", "delete", "merge")]
        await pool.close()
    except NotFound:  # it died before the pool was made
        assert not finished
        return
    finally:
        await lake.close()
    assert found == STATES[len(names)], names
    assert not finished or len(names) == 4
