"""A process that dies while it deletes a repository, or brings it back, leaves it whole: the name is there with all of
its content, or it can be restored. The next life goes on."""

import asyncio
import subprocess
import sys
from pathlib import Path

import msgspec

from lochan.errors import Gone, NotFound
from lochan.lake import Lake
from lochan.versioning import objects
from tests.kill.child import Order
from tests.kill.deletion_child import opened
from tests.kill.harness import ROOT, failpoints_in_source
from tests.kill.import_child import ANN
from tests.unit.versioning.history import once

PREFIXES = ("restoration.", "deleted.")
_ALSO = {"repository.closed", "repository.deleted"}  # other stories pass them as well


def test_killed_at_every_step(tmp_path: Path) -> None:
    passed = _live(tmp_path / "dry")
    assert passed is not None
    names = {name for name in failpoints_in_source() if name.startswith(PREFIXES)} | _ALSO
    assert names <= passed.keys(), f"the child never passes {sorted(names - passed.keys())}"
    for name in sorted(names):
        for passing in range(1, passed[name] + 1):
            folder = tmp_path / f"{name}-{passing}"
            assert _live(folder, name, passing) is None, "it was to die"
            asyncio.run(_judge(folder, finished=False))
            assert _live(folder) is not None, "the next life goes on"
            asyncio.run(_judge(folder, finished=True))


def _live(folder: Path, at: str = "", passing: int = 1) -> dict[str, int] | None:
    """How often each failpoint was passed, or None if the process was killed there."""
    folder.mkdir(exist_ok=True)
    order = Order(str(folder / "lake"), "", seed=1, life=0, at=at, passing=passing)
    command = [sys.executable, "-m", "tests.kill.deletion_child", msgspec.json.encode(order).decode()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    if done.returncode == -9 and at:
        return None
    assert done.returncode == 0, done.stderr
    return msgspec.json.decode(done.stdout, type=dict[str, int])


async def _judge(folder: Path, *, finished: bool) -> None:
    lake = await opened(str(folder / "lake"))
    assert await _contents(lake, "comes-back") == {"a": b"1"}
    gone = {each.repository.name: each for each in await lake.deleted_repositories()}
    if finished:
        assert not gone
        assert [each.name for each in await lake.repositories()] == ["comes-back"]
    elif "goes-away" in gone and not gone["goes-away"].list:
        await lake.restore_repository("goes-away", actor=ANN)
        assert await _contents(lake, "goes-away") == {"a": b"1"}
        await lake.delete_repository("goes-away", actor=ANN)
    await lake.close()


async def _contents(lake: Lake, name: str) -> dict[str, bytes]:
    """It can be read and written to, if need be after it was restored."""
    try:
        repository = await lake.open_repository(name)
        await repository.refs()
    except NotFound:
        try:
            await lake.restore_repository(name, actor=ANN)
        except Gone:
            return {}
        repository = await lake.open_repository(name)
    entries = (await objects.list_objects(repository, "main")).entries
    found = {entry.path: await repository.reader.read_all(entry) for entry in entries}
    await objects.put(repository, "main", "a", once(b"1"), actor=ANN)
    await repository.close()
    return found
