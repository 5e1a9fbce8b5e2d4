"""A lake survives the end of its process at every named failpoint, and every answer that was given is true."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice, repeat

import pytest

from tests.kill.harness import Outcome, Trial, choose, failpoints_in_source, passings, summary, try_out
from tests.kill.plants import PLANTS
from tests.kill.test_collection import PREFIXES as COLLECTED
from tests.kill.test_deletion import PREFIXES as DELETED
from tests.kill.test_imports import PREFIXES as BROUGHT_IN
from tests.kill.test_retention import PREFIXES as RETAINED
from tests.kill.test_versioned import PREFIXES  # killed at in their own stories
from tests.servers.postgres import postgres

_AT_ONCE = 2
_OF_TASKS = "entry_runs."  # on executors: a try that dies there is played in tests/unit/jobs
_OF_BACKUPS = ("backup.", "copy.", "restore.")  # tests/unit/recovery/test_backup.py
_OF_POSTGRES = ("postgres.", "mirror.")
_FULL_SEEDS = range(2, 12)


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """One for all: a lake finds its own rows by its id."""
    with postgres() as server:
        yield server.url


def test_killed_at_every_failpoint(database: str) -> None:
    """At the first, a middle and the last passing; no failpoint of the source is left out."""
    outcomes = _all_tried(_every_passing(passings(seed=1), seed=1))
    outcomes += _all_tried(_every_passing(_of_postgres(passings(1, database)), seed=1), database)
    _judge(outcomes)
    killed_at = {name for outcome in outcomes for name in outcome.deaths}
    elsewhere = (*PREFIXES, *BROUGHT_IN, *COLLECTED, *DELETED, *RETAINED, *_OF_BACKUPS, _OF_TASKS)
    expected = {name for name in failpoints_in_source() if not name.startswith(elsewhere)}
    forgotten = expected - killed_at
    assert not forgotten, f"the child never passes {sorted(forgotten)}: let it do what leads there"
    assert killed_at == expected


@pytest.mark.parametrize("at", ["local.after_link", "trim.after_segment", "checkpoint.before_put"])
def test_killed_again_ten_times_in_a_row_while_it_recovers(at: str) -> None:
    outcome = try_out(Trial(at, recovery=_ten_beginning_with(at)))
    _judge([outcome])
    assert len(outcome.deaths) == 11


@pytest.mark.parametrize(
    "at", ["append.before_put", "append.after_put", "local.after_temp_sync", "local.after_link", "trim.before_segment"]
)
def test_stopped_while_another_process_takes_over_and_trims(at: str) -> None:
    outcomes = _all_tried([Trial(at, passing, stop=True) for passing in (3, 6)])
    _judge(outcomes)
    assert any(outcome.deaths for outcome in outcomes)


_PLANTED = [
    ("acknowledges before the append", "append.before_put", (4, 8, 16)),
    ("links before writing", "local.after_link", (2,)),
    ("skips writing", "append.decided", (4, 8)),
    ("creates over what is there", "append.decided", (4, 8)),
    ("deletes slots before the segment", "trim.before_segment", (1, 2)),
    ("forgets keys", "append.answered_one", (45, 50)),
    ("checkpoints what is not folded", "checkpoint.after_put", (1, 2, 3)),
    ("names a repository before it is opened", "repository.named", (1, 2)),
]


@pytest.mark.parametrize("plant, at, passings", _PLANTED)
def test_a_planted_bug_is_caught(plant: str, at: str, passings: tuple[int, ...]) -> None:
    """Not each time, because chance decides which writer comes first."""
    for seed in range(4):
        outcomes = _all_tried([Trial(at, passing, seed, plant=plant) for passing in passings])
        caught = [outcome.violation for outcome in outcomes if outcome.violation]
        if caught:
            print(caught[0])
            return
    pytest.fail("nobody noticed")


def test_every_plant_is_tried() -> None:
    assert {plant for plant, _, _ in _PLANTED} == set(PLANTS)


@pytest.mark.full
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("seed", _FULL_SEEDS)
def test_killed_at_every_failpoint_with_many_seeds(seed: int, database: str) -> None:
    counts = passings(seed)
    trials = _every_passing(counts, seed, spread=6)
    trials += [Trial(at, 1, seed, recovery=_ten_beginning_with(at)) for at in counts]
    trials += [Trial(at, 1 + count // 3, seed, stop=True) for at, count in counts.items()]
    outcomes = _all_tried(trials)
    outcomes += _all_tried(_every_passing(passings(seed, database), seed), database)
    _judge(outcomes)


def _every_passing(counts: dict[str, int], seed: int, spread: int = 3) -> list[Trial]:
    return [Trial(at, passing, seed) for at, count in sorted(counts.items()) for passing in choose(count, spread)]


def _of_postgres(counts: dict[str, int]) -> dict[str, int]:
    """The rest is passed on local disk too."""
    return {at: count for at, count in counts.items() if at.startswith(_OF_POSTGRES)}


def _ten_beginning_with(at: str) -> tuple[str, ...]:
    names = sorted(name for name in failpoints_in_source() if name.startswith(("append.", "local.")))
    often = [name for name in names if name not in ("append.lost", "local.folder_made", "local.deleted")]
    return (at, *islice(cycle(often), 9)) if at in often else tuple(islice(cycle(often), 10))


def _all_tried(trials: list[Trial], url: str = "") -> list[Outcome]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(try_out, trials, repeat(url)))


def _judge(outcomes: list[Outcome]) -> None:
    print(summary(outcomes))
    wrong = [outcome.violation for outcome in outcomes if outcome.violation]
    assert not wrong, "\n".join(wrong)
