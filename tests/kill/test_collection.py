"""A dedupe or a garbage collection that dies at any step is done again: what is named stays, and what is dead goes."""

import asyncio
import subprocess
import sys
from pathlib import Path

import msgspec

from lochan.versioning import objects
from tests.kill.child import Order
from tests.kill.collection_child import LIVE, opened
from tests.kill.harness import ROOT, failpoints_in_source

PREFIXES = ("aliases.", "plan.", "sweep.")


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
    command = [sys.executable, "-m", "tests.kill.collection_child", msgspec.json.encode(order).decode()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    if done.returncode == -9 and at:
        return None
    assert done.returncode == 0, done.stderr
    return msgspec.json.decode(done.stdout, type=dict[str, int])


async def _judge(folder: Path, *, finished: bool) -> None:
    lake = await opened(str(folder / "lake"))
    repository = await lake.open_repository("demo-repo")
    entries = (await objects.list_objects(repository, "main")).entries
    assert {entry.path: (await repository.reader.read_all(entry)).decode() for entry in entries} == LIVE
    bodies = [stat.path async for stat in repository.store.list(f"{repository.repository.id}/data/")]
    assert len(bodies) in ((2,) if finished else (2, 3, 4))
    refs, _ = await repository.refs()
    assert not (finished and refs.collection.running)
    await lake.close()
