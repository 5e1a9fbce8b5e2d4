"""`make sim SEEDS=200`: random lives under faults, then every small scene; a violation is printed and can be replayed.

The worlds are the journal, the versioning that stands on it, files (bodies that are bytes, and their garbage), garbage
collection beside every kind of writer (short lives, so there are more of them), the queue of a branch with dead writers
in it, which has lives alone, and, with scenes alone, pools, access and long jobs.

python -m tests.sim --seeds 200                     seeds 0 to 199 of each, and the explorer
python -m tests.sim --seed 17                       one life again, with its trace
python -m tests.sim --plants                        every planted bug, and after how many seeds it is caught
python -m tests.sim --world versioning --seed 17    of one world only
"""

import argparse
import sys
import time

from tests.sim.explore import Result
from tests.sim.shrink import shrink
from tests.sim.worlds import WORLDS, Both

PLANT_SEEDS = {"journal": 500, "versioning": 200, "queues": 60, "collection": 400}  # what no life catches a scene does


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__.splitlines()[0])
    parser.add_argument("--world", choices=WORLDS, action="append", help="only this one")
    parser.add_argument("--seeds", type=int, default=200, help="how many random lives")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="play this one only, and print what happened")
    parser.add_argument("--schedules", type=int, default=2_000, help="how many of them beside garbage collection")
    parser.add_argument("--scene-seconds", type=float, default=5.0, help="how long each small scene is explored")
    parser.add_argument("--plants", action="store_true", help="plant each bug in turn")
    chosen = parser.parse_args()
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    schedules = range(chosen.first, chosen.first + chosen.schedules)
    if chosen.seed is not None:
        seeds = schedules = range(chosen.seed, chosen.seed + 1)
    names = list(chosen.world or WORLDS)
    failed = 0
    summaries: list[str] = []
    for name in names:
        world = WORLDS[name]
        if chosen.plants:
            failed |= _plants(name, world)
            continue
        failed |= _live(name, world, schedules if name == "collection" else seeds, summaries)
        if chosen.seed is None:
            failed |= _explore(world, chosen.scene_seconds)
    print("\n".join(summaries))
    print(_closing(names, plants=chosen.plants, failed=bool(failed)))
    return failed


def _closing(names: list[str], *, plants: bool, failed: bool) -> str:
    """A summary of what was played, and the result."""
    scenes = sum(len(list(WORLDS[name].scenes)) for name in names)
    planted = sum(len(list(WORLDS[name].plants)) for name in names)
    lives = sum(len(WORLDS[name].lives) for name in names)
    if plants:
        how = "NOT ALL WERE CAUGHT" if failed else "all were caught"
        return f"worlds {len(names)}, plants {planted}: {how}"
    how = "A RULE WAS BROKEN" if failed else "no rule was broken"
    return f"worlds {len(names)}, kinds of lives {lives}, scenes {scenes}, plants (--plants) {planted}: {how}"


def _live(name: str, world: Both, seeds: range, summaries: list[str]) -> int:
    begun = time.monotonic()
    failed = 0
    for what, live, life in world.lives:
        result = live(seeds)
        failed |= _judge(result, f"{name}: {what}", begun)
        if result.summary:
            summaries.append(f"{name}: {result.summary}")
        if result.violation is not None:
            again = f"--world {name} --seed {result.violation.seed}"
            print(f"replay it: python -m tests.sim {again}; in fewer steps:")
            print(shrink(life, result.violation, seconds=20))
    return failed


def _explore(world: Both, seconds: float) -> int:
    failed = 0
    for name in world.scenes:
        begun = time.monotonic()
        failed |= _judge(world.explore_scene(name, seconds), name, begun)
    return failed


def _judge(result: Result, what: str, begun: float) -> int:
    took = f"{time.monotonic() - begun:.1f} s"
    reach = f", all of {result.exhausted[-1]}" if result.exhausted else ""
    print(f"{what}: {result.runs} runs, {int(result.violation is not None)} violations{reach}, {took}", flush=True)
    if result.violation is None:
        return 0
    print(result.violation)
    return 1


def _plants(name: str, world: Both) -> int:
    missed = 0
    for plant in world.plants:
        how = world.catch(plant, PLANT_SEEDS.get(name, 0))
        missed += not how
        print(f"{name}: {plant}: {how or 'MISSED'}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
