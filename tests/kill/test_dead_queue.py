"""Processes that are killed, or stand still, in the queue of a branch delay the next commit once, not one after the
other. A process that goes on after others have taken over lands after them, or is refused before it is answered.
"""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from lochan.api.lake import read_events
from lochan.formats.record import Actor
from lochan.formats.repository_events import Turned
from lochan.lake import Lake
from lochan.store.open import open_store
from lochan.versioning import objects
from lochan.versioning.heads import branch_queue
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.revisions.graph import log
from tests.kill.child import Order
from tests.kill.harness import ROOT
from tests.kill.queue_child import REPOSITORY
from tests.run import run
from tests.unit.versioning.test_at_once import once

ANN = Actor("ann", "test", "")
_PATIENCE_S = 120


def child(folder: Path, life: int, *, requests: int = 1, stop: bool = False) -> subprocess.Popen[str]:
    order = Order(str(folder), "", 0, life, "land.turned", requests, stop)
    command = [sys.executable, "-m", "tests.kill.queue_child", msgspec.json.encode(order).decode()]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


async def make(folder: Path) -> None:
    lake = await Lake.create(open_store(str(folder), create=True))
    await lake.create_repository(REPOSITORY, actor=ANN)
    repository = await lake.open_repository(REPOSITORY)
    await objects.put(repository, "main", "a", once(b"a"), actor=ANN)
    await repository.close()
    await lake.close()


async def commit_behind_them(folder: Path) -> Counter[str]:
    """Returns how often each event is in the journal afterwards."""
    lake = await Lake.open(open_store(str(folder)))
    repository = await lake.open_repository(REPOSITORY)
    await commit(repository, "main", CommitRequest("of the one who lives"), actor=ANN)
    refs, _ = await repository.refs()
    assert refs.branch("main").turns == ()
    kinds = Counter([line.type async for line in read_events(lake, REPOSITORY)])
    await repository.close()
    await lake.close()
    return kinds


def test_requests_of_killed_processes_hold_a_commit_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branch_queue, "SILENT_S", 0.5)
    run(make(tmp_path))
    killed = [child(tmp_path, life, requests=4) for life in range(3)]
    for each in killed:
        each.communicate(timeout=_PATIENCE_S)
    assert [each.returncode for each in killed] == [-signal.SIGKILL] * 3
    kinds = run(commit_behind_them(tmp_path))
    assert kinds["turned"] == 3 * 4 + 1
    assert kinds["turn-over"] == 3, "one for each writer, whatever it has left"
    assert kinds["committed"] == 1


def test_a_process_that_stood_still_in_the_queue_goes_on_behind_those_who_took_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(branch_queue, "SILENT_S", 0.5)
    run(make(tmp_path))
    run(_queue_up_somebody(tmp_path))  # so that the child has to queue
    stopped = child(tmp_path, 1, stop=True)
    os.waitid(os.P_PID, stopped.pid, os.WSTOPPED)
    assert run(commit_behind_them(tmp_path))["turn-over"] == 2
    run(_stage_more(tmp_path))
    os.kill(stopped.pid, signal.SIGCONT)
    output, _ = stopped.communicate(timeout=_PATIENCE_S)
    assert stopped.returncode == 0
    assert run(_messages(tmp_path)) == ["of life 1", "of the one who lives", "Repository created"]
    assert output.strip(), "it was told of its commit"


async def _queue_up_somebody(folder: Path) -> None:
    lake = await Lake.open(open_store(str(folder)))
    repository = await lake.open_repository(REPOSITORY)
    await repository.submit(ANN, Turned("main", "somebody who died", writer="dead"))
    await repository.close()
    await lake.close()


async def _stage_more(folder: Path) -> None:
    lake = await Lake.open(open_store(str(folder)))
    repository = await lake.open_repository(REPOSITORY)
    await objects.put(repository, "main", "b", once(b"b"), actor=ANN)
    await repository.close()
    await lake.close()


async def _messages(folder: Path) -> list[str]:
    lake = await Lake.open(open_store(str(folder)))
    repository = await lake.open_repository(REPOSITORY)
    refs, _ = await repository.refs()
    messages = [commit.message for _, commit in log(refs.commit, refs.branch("main").head)]
    await repository.close()
    await lake.close()
    return messages
