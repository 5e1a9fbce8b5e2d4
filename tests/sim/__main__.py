"""`make sim SEEDS=200`: random lives under faults, then every small scene; a violation is printed and can be replayed.

python -m tests.sim --seeds 200            seeds 0 to 199, and the explorer
python -m tests.sim --seed 17              one life again, with its trace
python -m tests.sim --plants               every planted bug, and after how many seeds it is caught
"""

import argparse
import sys
import time

from tests.sim.explore import Result
from tests.sim.lives import life, live
from tests.sim.plants import PLANTS
from tests.sim.scenarios import SCENES, explore_scene
from tests.sim.shrink import shrink

PLANT_SEEDS = 500


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200, help="how many random lives")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="play this one only, and print what happened")
    parser.add_argument("--scene-seconds", type=float, default=5.0, help="how long each small scene is explored")
    parser.add_argument("--plants", action="store_true", help="plant each bug in turn")
    chosen = parser.parse_args()
    if chosen.seed is not None:
        return _judge(live(range(chosen.seed, chosen.seed + 1)), f"seed {chosen.seed}")
    if chosen.plants:
        return _plants()
    begun = time.monotonic()
    failed = _judge(live(range(chosen.first, chosen.first + chosen.seeds)), "lives", begun)
    for name in SCENES:
        begun = time.monotonic()
        failed |= _judge(explore_scene(name, seconds=chosen.scene_seconds), name, begun)
    return failed


def _judge(result: Result, what: str, begun: float | None = None) -> int:
    took = f", {time.monotonic() - begun:.1f} s" if begun is not None else ""
    reach = f", all of {result.exhausted[-1]}" if result.exhausted else ""
    print(f"{what}: {result.runs} runs, {int(result.violation is not None)} violations{reach}{took}", flush=True)
    if result.violation is None:
        return 0
    print(result.violation)
    if result.violation.seed or what == "lives":
        print(f"replay it: make sim SEEDS=1, or python -m tests.sim --seed {result.violation.seed}; in fewer steps:")
        print(shrink(life(), result.violation, seconds=20))
    return 1


def _plants() -> int:
    missed = 0
    for name, plant in PLANTS.items():
        result = live(range(PLANT_SEEDS), plant)
        caught = result.violation is not None
        missed += not caught
        print(f"{name}: {f'caught by seed {result.runs - 1}' if caught else 'MISSED'}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
