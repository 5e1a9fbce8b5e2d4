"""Separate processes on one lake on disk: what each of them left is there, and nothing else, and every commit that was
acknowledged is in the history.
"""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from lochan.clock import SystemClock
from lochan.ids import Ids
from lochan.lake import Lake
from lochan.store.open import open_store, stack
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.graph import log
from tests.model.versioned.neighbour import Left, Order
from tests.model.versioned.reader import LakeReader
from tests.model.versioned.verbs import ANN
from tests.run import run

_ROOT = Path(__file__).parents[2]
_PATIENCE_S = 200


def test_processes_beside_each_other(tmp_path: Path) -> None:
    _play(tmp_path, processes=4, steps=12)


@pytest.mark.full
@pytest.mark.timeout(1_800)
def test_many_processes_beside_each_other_for_long(tmp_path: Path) -> None:
    _play(tmp_path, processes=8, steps=150)


def _play(folder: Path, processes: int, steps: int) -> None:
    run(_make(folder))
    orders = [Order(str(folder), f"p{number}", steps) for number in range(processes)]
    command = [sys.executable, "-m", "tests.model.versioned.neighbour"]
    started = [
        subprocess.Popen(
            [*command, msgspec.json.encode(order).decode()], cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for order in orders
    ]
    left = []
    for process in started:
        out, errors = process.communicate(timeout=_PATIENCE_S)
        assert process.returncode == 0, errors.decode()
        left.append(msgspec.json.decode(out, type=Left))
    run(_judge(folder, left))


async def _make(folder: Path) -> None:
    lake = await Lake.create(stack(open_store(str(folder), create=True), clock=SystemClock(), ids=Ids()))
    await lake.create_repository("demo-repo", actor=ANN)
    await lake.close()


async def _judge(folder: Path, left: list[Left]) -> None:
    lake = await Lake.open(stack(open_store(str(folder)), clock=SystemClock(), ids=Ids()), alarm=pytest.fail)
    repository = await lake.open_repository("demo-repo")
    expected = {path: data for each in left for path, data in each.files.items()}
    await _check(repository, "main", expected, left)
    await commit(repository, "main", CommitRequest("all that is staged", allow_empty=True), actor=ANN)
    await _check(repository, "main@", expected, left)
    await repository.close()
    await lake.close()


async def _check(repository: OpenRepository, ref: str, expected: dict[str, str], left: list[Left]) -> None:
    assert await LakeReader().files(repository, ref) == expected
    refs, _ = await repository.refs()
    history = {id for id, _ in log(refs.commit, refs.branch("main").head)}
    promised = [id for each in left for id in each.commits]
    assert len(set(promised)) == len(promised)
    assert set(promised) <= history
