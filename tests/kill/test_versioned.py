"""Files survive the end of a process at every step of a put, a commit and a head move; a later life goes on."""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from lochan.versioning import objects
from lochan.versioning.graph import log
from lochan.versioning.open_repository import OpenRepository
from tests.kill import place
from tests.kill.child import Order
from tests.kill.harness import ROOT, failpoints_in_source
from tests.kill.versioned_child import BRANCHES, Line

PREFIXES = ("body.", "commit.", "compact.", "move.")
Files = dict[str, str]


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(
        prefix="lochan-kill-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None
    ) as name:
        yield Path(name)


def test_killed_at_every_step_of_versioning(folder: Path) -> None:
    passed = _live(folder / "dry", 0)
    assert passed is not None
    names = {name for name in failpoints_in_source() if name.startswith(PREFIXES)}
    assert names <= passed.keys(), f"the child never passes {sorted(names - passed.keys())}"
    trials = [(name, n) for name in sorted(names) for n in sorted({1, passed[name] // 2 or 1, passed[name]})]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda trial: _try(folder / f"{trial[0]}-{trial[1]}", *trial), trials))


def _try(folder: Path, at: str, passing: int) -> None:
    assert _live(folder, 0, at, passing) is None, "it was to die"
    asyncio.run(_judge(folder))
    assert _live(folder, 1) is not None, "the next life goes on"
    asyncio.run(_judge(folder))


def _live(folder: Path, life: int, at: str = "", passing: int = 1) -> dict[str, int] | None:
    """How often each failpoint was passed; None: it was killed there."""
    folder.mkdir(exist_ok=True)
    order = Order(str(folder / "lake"), str(folder / "told"), seed=1, life=life, at=at, passing=passing)
    command = [sys.executable, "-m", "tests.kill.versioned_child", msgspec.json.encode(order).decode()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    if done.returncode == -9 and at:
        return None
    assert done.returncode == 0, done.stderr
    return msgspec.json.decode(done.stdout, type=dict[str, int])


async def _judge(folder: Path) -> None:
    """What was told to be done is done; what was only begun is done or not, as a whole."""
    lake = await place.open_lake(place.lake_store(str(folder / "lake")), "", pytest.fail)
    repository = await lake.open_repository("demo-repo")
    told = [msgspec.json.decode(line, type=Line) for line in (folder / "told").read_bytes().splitlines()]
    open_ = {(line.data, line.verb) for line in told} - {(line.data, line.verb) for line in told if line.done}
    refs, _ = await repository.refs()
    for branch in BRANCHES:
        history = {id for id, _ in log(refs.commit, refs.branch(branch).head)}
        for line in told:
            if line.done and line.branch == branch and len(line.result) == 64:
                assert line.result in history, f"{line} was acknowledged and is lost"
        seen = await _read(repository, branch)
        for path, allowed in _allowed(told, branch, open_).items():
            assert seen.get(path) in allowed, f"{branch}/{path} is {seen.get(path)!r}, and may be {allowed}"
    await repository.close()
    await lake.close()


def _allowed(told: list[Line], branch: str, open_: set[tuple[str, str]]) -> dict[str, set[str | None]]:
    """For paths that were put or deleted after the last head move of the branch: what may be there now."""
    allowed: dict[str, set[str | None]] = {}
    for line in told:
        if line.branch != branch:
            continue
        if line.verb in ("merge", "revert") and line.result != "-":
            allowed.clear()  # what is there then is the model test's business
        elif line.verb in ("put", "delete"):
            value = line.data if line.verb == "put" else None
            if line.done:
                allowed[line.path] = {value}
            elif (line.data, line.verb) in open_ and line.path in allowed:
                allowed[line.path].add(value)
    return allowed


async def _read(repository: OpenRepository, ref: str) -> Files:
    page = await objects.list_objects(repository, ref)
    return {
        entry.path: b"".join([chunk async for chunk in objects.read(repository, entry)]).decode()
        for entry in page.entries
    }
