"""Whoever dies while rules are carried out drops nothing else, and loses and doubles no row of the usage log."""

from collections import Counter
from pathlib import Path

from lochan.formats import usage
from lochan.usage.read import aged_until, read_rows
from lochan.versioning import objects
from lochan.versioning.collection.drops import DAY_US
from lochan.versioning.collection.store_clock import store_time
from tests.kill.retention_child import FILES, GONE, KEEP_DAYS, KEPT, NEW_DAYS, OLD_DAYS, opened
from tests.kill.two_lives import kill_everywhere

PREFIXES = ("drop.", "usage.")


def test_killed_at_every_step(tmp_path: Path) -> None:
    kill_everywhere("retention_child", tmp_path, _judge, PREFIXES)


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
