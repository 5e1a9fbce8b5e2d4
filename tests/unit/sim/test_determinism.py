"""The same seed is the same run, byte for byte, in this process and in any other."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sim.chooser import Walk
from tests.sim.explore import walk
from tests.sim.violation import Violation
from tests.unit.sim.toys import Busy

SEEDS = range(12)


def story(seed: int) -> str:
    busy = Busy()
    violation: Violation | None = walk(busy, [seed]).violation
    return "\n".join([*busy.lines, violation.message.splitlines()[-1] if violation else "well"])


def test_twice_in_one_process() -> None:
    stories = [story(seed) for seed in SEEDS]
    assert stories == [story(seed) for seed in SEEDS]
    assert len(set(stories)) == len(stories)
    assert sum(map(len, stories)) > 10_000


@pytest.mark.thorough
def test_in_another_process_with_another_hash_seed() -> None:
    code = "from tests.unit.sim.test_determinism import SEEDS, story\nfor seed in SEEDS: print(story(seed))"
    values = []
    for hash_seed in ("1", "2"):
        values.append(
            subprocess.run(
                [sys.executable, "-c", code],
                cwd=Path(__file__).parents[3],
                env={**os.environ, "PYTHONHASHSEED": hash_seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
    here = "".join(story(seed) + "\n" for seed in SEEDS)
    assert values == [here, here]


def test_ids_follow_the_seed() -> None:
    assert Walk(7).seed == 7
