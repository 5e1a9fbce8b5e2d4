"""Imports, copies of folders and links survive the end of a process at every step: complete, or not there at all."""

import asyncio
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lochan.versioning import objects
from lochan.versioning.revisions.graph import log
from tests.kill.child import Order
from tests.kill.harness import failpoints_in_source
from tests.kill.import_child import COUNT, opened
from tests.kill.life import live

PREFIXES = ("bulk.", "import.", "link.")


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(
        prefix="lochan-kill-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None
    ) as name:
        yield Path(name)


def test_killed_at_every_step(folder: Path) -> None:
    passed = _live(folder / "dry")
    assert passed is not None
    names = {name for name in failpoints_in_source() if name.startswith(PREFIXES)}
    assert names <= passed.keys(), f"the child never passes {sorted(names - passed.keys())}"
    trials = [(name, n) for name in sorted(names) for n in sorted({1, passed[name]})]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda trial: _try(folder / f"{trial[0]}-{trial[1]}", *trial), trials))


def _try(folder: Path, at: str, passing: int) -> None:
    assert _live(folder, at, passing) is None, "it was to die"
    asyncio.run(_judge(folder, finished=False))
    assert _live(folder) is not None, "the next life goes on"
    asyncio.run(_judge(folder, finished=True))


def _live(folder: Path, at: str = "", passing: int = 1) -> dict[str, int] | None:
    """How often each failpoint was passed, or None if the process was killed there."""
    (folder / "source").mkdir(parents=True, exist_ok=True)
    for number in range(COUNT):
        if not (folder / "source" / f"{number}").exists():
            (folder / "source" / f"{number}").write_text(f"{number}")
    order = Order(str(folder / "lake"), "", seed=1, life=0, at=at, passing=passing)
    return live("import_child", order)


async def _judge(folder: Path, *, finished: bool) -> None:
    lake = await opened(str(folder / "lake"))
    repository = await lake.open_repository("demo-repo")
    found = {
        entry.path: (await repository.reader.read_all(entry)).decode()
        for entry in (await objects.list_objects(repository, "main")).entries
    }
    for prefix in ("in/", "follow/", "copy/", "moved/"):
        names = [path for path in found if path.startswith(prefix)]
        assert len(names) in ((COUNT,) if finished and prefix != "copy/" else (0, COUNT)), prefix
        assert all(found[name] == name.removeprefix(prefix) for name in names)
    assert found.get("linked", "linked") == "linked"
    refs, _ = await repository.refs()
    messages = [commit.message.split()[0] for _, commit in log(refs.commit, refs.branch("main").head)]
    assert len(messages) == len(set(messages)), "an import that was done is not done again"
    if finished:
        assert messages == ["Ingest", "Import", "Repository"]
        assert found["linked"] == "linked"
        assert "one" in found
    await lake.close()
