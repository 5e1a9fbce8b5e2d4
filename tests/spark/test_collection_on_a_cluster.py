"""Garbage collection and dedupe on a standalone cluster whose executors are killed and whose tasks run twice: what they
list is what the embedded engine lists, and what is alive stays.

The cluster has two addresses, because Spark runs the second copy of a task on another host only, and `local-cluster`
has one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.spark.cluster import cluster

OF_PLANS, OF_SWEEPS = ("read_trees", "mark_files", "collect_shard"), ("check_part", "delete_parts")
OF_DEDUPE = ("read_blocks", "list_shard", "find_equal", "check_task")
SHORT = "died-mark_files,slow-collect_shard,slow-check_part,died-delete_parts"
LONG = [f"{harm}-{step}" for step in (*OF_PLANS, *OF_SWEEPS, *OF_DEDUPE) for harm in ("died", "slow")]


def played(folder: Path, stories: Sequence[str]) -> dict[str, dict[str, Any]]:
    with cluster() as there:
        command = [sys.executable, "-m", "tests.spark.run_collection", there.master, str(folder), *stories]
        env = {**os.environ, **there.configured()}
        ran = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=1_500)
    print(ran.stderr[-4_000:])
    assert ran.returncode == 0, ran.stderr[-4_000:]
    found: dict[str, dict[str, Any]] = json.loads(ran.stdout.splitlines()[-1])
    assert list(found) == list(stories)
    return found


def check(story: str, found: dict[str, Any]) -> None:
    assert found["harms"] == dict.fromkeys(story.split(","), True), (story, found)
    assert found["lost"] == story.count("died"), (story, found)
    assert found["plan"] > 0 and found["same"] and found["alive"], (story, found)
    if story.endswith(OF_DEDUPE):
        assert found["left"] == 0, (story, found)
        return
    assert found["gone"], (story, found)
    if "delete_parts" in story:  # what an attempt deleted that Spark gave up is counted by nobody
        assert 0 <= found["swept"] < found["plan"], (story, found)
    else:
        assert found["swept"] == found["plan"], (story, found)


def test_a_plan_and_a_sweep_whose_executors_die_and_whose_tasks_run_twice(tmp_path: Path) -> None:
    (found,) = played(tmp_path, [SHORT]).values()
    check(SHORT, found)


@pytest.mark.full
@pytest.mark.timeout(1_800)
def test_every_kind_of_task(tmp_path: Path) -> None:
    for story, found in played(tmp_path, LONG).items():
        check(story, found)
