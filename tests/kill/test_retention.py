"""Whoever dies while rules are carried out drops nothing else, and loses and doubles no row of the usage log."""

import asyncio
import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec

from lochan.formats import usage
from lochan.usage.read import aged_until, read_rows
from lochan.versioning import objects
from lochan.versioning.collection.drops import DAY_US
from lochan.versioning.collection.store_clock import store_time
from tests.kill.child import Order
from tests.kill.harness import ROOT, failpoints_in_source
from tests.kill.retention_child import FILES, GONE, KEEP_DAYS, KEPT, NEW_DAYS, OLD_DAYS, opened

PREFIXES = ("drop.", "usage.")


def test_killed_at_every_step(tmp_path: Path) -> None:
    passed = _live(tmp_path / "dry")
    assert passed is not None
    names = {name for name in failpoints_in_source() if name.startswith(PREFIXES)}
    assert names <= passed.keys(), f"the child never passes {sorted(names - passed.keys())}"
    for name in sorted(names):
        for passing in range(1, passed[name] + 1):
            _try(tmp_path / f"{name}-{passing}", name, passing)


def _try(folder: Path, at: str, passing: int) -> None:
    assert _live(folder, at, passing) is None, "it was to die"
    asyncio.run(_judge(folder, finished=False))
    assert _live(folder) is not None, "the next life goes on"
    asyncio.run(_judge(folder, finished=True))


def _live(folder: Path, at: str = "", passing: int = 1) -> dict[str, int] | None:
    """How often each failpoint was passed, or None if the process was killed there."""
    folder.mkdir(exist_ok=True)
    order = Order(str(folder / "lake"), "", seed=1, life=0, at=at, passing=passing)
    command = [sys.executable, "-m", "tests.kill.retention_child", msgspec.json.encode(order).decode()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    if done.returncode == -9 and at:
        return None
    assert done.returncode == 0, done.stderr
    return msgspec.json.decode(done.stdout, type=dict[str, int])


async def _judge(folder: Path, *, finished: bool) -> None:
    lake = await opened(str(folder / "lake"))
    repository = await lake.open_repository("demo-repo")
    there = {entry.path for entry in (await objects.list_objects(repository, "main")).entries}
    assert there in ([set(KEPT)] if finished else [set(KEPT), {*KEPT, *GONE}])
    counts = Counter((await read_rows(lake.store))["path"].to_pylist())
    assert all(counts[f"{day}/{file}"] == 1 for day in NEW_DAYS for file in range(FILES))
    old = [counts[f"{day}/{file}"] for day in OLD_DAYS for file in range(FILES)]
    now = round(await store_time(lake.store, "_lake") * 1e6)
    if not all(old):
        assert await aged_until(lake.store) == usage.day_of(now - KEEP_DAYS * DAY_US), "it was said before they went"
    assert not finished or not any(old)
    await repository.close()
    await lake.close()
