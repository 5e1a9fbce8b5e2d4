"""The explorer visits each schedule once, finds planted bugs within small budgets, and can replay what it found."""

import asyncio
import itertools

import pytest

from tests.sim.chooser import Chooser
from tests.sim.explore import Run, deepen, explore, ladder, replay, walk
from tests.sim.machine import Machine
from tests.sim.plants import Plant, ShortDay
from tests.sim.shrink import shrink
from tests.sim.violation import Diverged, NothingPlanted, Violation
from tests.sim.world import World
from tests.unit.sim.toys import Busy, Counter, Creator, Lease


class TwoPuts:
    """Two machines put once: four things, A's effect and answer (a, A) and B's (b, B). Records the orders it saw."""

    def __init__(self, *, split: bool = True) -> None:
        self.orders: list[str] = []
        self._split = split

    def __call__(self, chooser: Chooser) -> None:
        order: list[str] = []

        def lands(verb: str, path: str) -> bool:
            order.append(path)
            return False

        async def put(machine: Machine) -> None:
            await machine.store.put(machine.name.lower(), b"")
            order.append(machine.name)

        world = World(chooser, split=self._split)
        world.store(faulty=lands)
        for name in "AB":
            machine = world.machine(name)
            machine.spawn(put(machine))
        world.run(jumps=())
        self.orders.append("".join(order))


@pytest.mark.parametrize(
    "preempt, orders",
    [
        pytest.param(0, {"aAbB", "bBaA"}, id="whoever begins ends"),
        pytest.param(1, {"aAbB", "bBaA", "abBA", "baAB"}, id="one interrupted once"),
        pytest.param(2, {"aAbB", "bBaA", "abBA", "baAB", "abAB", "baBA"}, id="all four over two times two"),
        pytest.param(9, {"aAbB", "bBaA", "abBA", "baAB", "abAB", "baBA"}, id="no more than all"),
    ],
)
def test_each_schedule_within_the_budget_is_visited_once(preempt: int, orders: set[str]) -> None:
    run = TwoPuts()
    result = explore(run, {"preempt": preempt})
    assert result.complete and result.violation is None
    assert sorted(run.orders) == sorted(orders) and result.runs == len(orders)


def test_with_the_answer_joined_to_the_effect_there_is_only_the_order_of_effects() -> None:
    run = TwoPuts(split=False)
    explore(run, {"preempt": 9})
    assert sorted(run.orders) == ["aAbB", "bBaA"]


def test_each_fault_of_a_conditional_put_is_one_run() -> None:
    seen = []

    async def put(machine: Machine) -> None:
        try:
            await machine.store.put_if_absent("x", b"")
        except Exception as error:
            seen.append(type(error).__name__)
        else:
            seen.append("created")

    def run(chooser: Chooser) -> None:
        world = World(chooser)
        world.store(faulty=lambda verb, path: True)
        machine = world.machine("A")
        machine.spawn(put(machine))
        world.run()

    assert explore(run, {"fault": 1}).complete
    assert seen == ["created", "Transient", "Transient", "Transient", "created", "AlreadyExists"]
    seen.clear()
    assert explore(run, {"full": 1}).complete
    assert seen == ["created", "DiskFull"]


def test_a_request_that_takes_too_long_costs_one_jump() -> None:
    seen = set()

    async def put(machine: Machine) -> None:
        try:
            await asyncio.wait_for(machine.store.put("x", b""), 30)
        except TimeoutError:
            seen.add(f"timeout, {machine.world.shared_store().peek('x')!r}")
        else:
            seen.add("answer")

    def run(chooser: Chooser) -> None:
        world = World(chooser)
        store = world.store()
        machine = world.machine("A")
        machine.spawn(put(machine))
        world.run(jumps=())
        seen.add(f"at the end {store.peek('x')!r}")

    assert explore(run, {}).complete and seen == {"answer", "at the end b''"}
    assert explore(run, {"jump": 1}).complete
    assert seen == {"answer", "timeout, None", "timeout, b''", "at the end b''", "at the end None"}


def test_time_and_runs_are_bounded() -> None:
    assert explore(TwoPuts(), {"preempt": 9}, max_runs=3).runs == 3
    assert not explore(TwoPuts(), {"preempt": 9}, seconds=0).complete
    assert walk(TwoPuts(), itertools.count(), seconds=0.05).runs > 1


BUGS = [
    pytest.param(Counter, {"preempt": 1}, "lost update", id="read, modify, write"),
    pytest.param(Creator, {"fault": 1}, "wrong answer", id="no answer taken for no"),
    pytest.param(Lease, {"preempt": 1, "jump": 1}, "overwritten", id="lease tested before sending"),
]


@pytest.mark.parametrize("toy, budgets, message", BUGS)
def test_a_planted_bug_is_found_and_plays_again(
    toy: type[Counter] | type[Creator] | type[Lease], budgets: dict[str, int], message: str
) -> None:
    run: Run = toy(buggy=True)
    found = explore(run, budgets).violation
    assert found is not None and found.message.startswith(message)
    again = replay(run, found.choices, found.budgets)
    assert again is not None and str(again) == str(found)
    with pytest.raises(Violation, match=message):
        explore(run, budgets).check()


@pytest.mark.parametrize("toy, budgets, message", BUGS)
def test_it_takes_the_whole_budget_to_find_it(
    toy: type[Counter] | type[Creator] | type[Lease], budgets: dict[str, int], message: str
) -> None:
    run: Run = toy(buggy=True)
    result = deepen(run, ladder(**budgets))
    assert result.violation is not None and result.violation.budgets == budgets
    assert result.exhausted == ladder(**budgets)[:-1]


@pytest.mark.parametrize("toy, budgets, message", BUGS)
def test_a_walk_finds_it_within_a_few_seeds_and_names_the_seed(
    toy: type[Counter] | type[Creator] | type[Lease], budgets: dict[str, int], message: str
) -> None:
    run: Run = toy(buggy=True)
    found = walk(run, range(300)).violation
    assert found is not None and found.message.startswith(message)
    assert str(walk(run, [found.seed]).violation) == str(found)
    assert str(replay(run, found.choices, found.budgets, seed=found.seed)) == str(found)


@pytest.mark.thorough
@pytest.mark.parametrize("toy, budgets, message", BUGS)
def test_without_the_bug_nothing_is_found(
    toy: type[Counter] | type[Creator] | type[Lease], budgets: dict[str, int], message: str
) -> None:
    run: Run = toy(buggy=False)
    result = deepen(run, ladder(preempt=2, fault=2, crash=1), seconds=300).check()  # 3 s, unless others work too
    assert result.complete and result.runs > 20 and not result.pruned
    assert walk(run, range(100)).check().runs == 100


def test_a_violation_shrinks_to_its_few_departures() -> None:
    run = Counter(buggy=True)
    found = walk(run, range(300)).violation
    assert found is not None
    small = shrink(run, found)
    assert small.message == found.message
    assert sum(map(bool, small.choices)) <= 2 and len(small.trace) <= 5


def test_a_violation_reads_like_a_story() -> None:
    found = explore(Counter(buggy=True), {"preempt": 1}).violation
    assert found is not None
    assert str(found).splitlines() == [
        "lost update: the count is 1",
        "    0d00:00:00.001 A    get count -> absent",
        "    0d00:00:00.003 B    get count -> absent",
        "    0d00:00:00.005 B    put count -> created [1 B dcefb7]",
        "    0d00:00:00.007 A    put count -> replaced [1 B dcefb7]",
        "replay(run, [0, 0, 1], {'preempt': 1}, seed=0)",
    ]


def test_an_exception_of_the_run_is_a_violation_with_its_traceback() -> None:
    def run(chooser: Chooser) -> None:
        World(chooser)
        raise KeyError("oops")

    found = explore(run, {}).violation
    assert found is not None and "KeyError: 'oops'" in found.message and "in run" in found.message


def test_runs_that_are_too_long_are_counted() -> None:
    async def forever(machine: Machine) -> None:
        while True:
            await machine.clock.sleep(1)

    def run(chooser: Chooser) -> None:
        world = World(chooser)
        machine = world.machine("A")
        machine.spawn(forever(machine))
        world.run(max_steps=10, jumps=())

    result = explore(run, {})
    assert (result.runs, result.pruned, result.complete) == (1, 1, True)


def test_a_run_that_is_not_a_function_of_its_choices_is_refused() -> None:
    count = itertools.count(2)

    def run(chooser: Chooser) -> None:
        chooser.choose([(i, None) for i in range(next(count))])

    with pytest.raises(Diverged):
        explore(run, {})


def test_walks_over_everything_at_once_leave_no_warning_behind() -> None:
    result = walk(Busy(), range(60))
    assert result.check().runs == 60


def test_a_plant_that_plants_nothing_is_not_taken_for_a_bug_that_was_caught() -> None:
    """What it changes was renamed: the run would end with an error, and look like a violation."""
    plant = Plant(ShortDay(), ((World, "no_such_method", None),))

    def run(chooser: Chooser) -> None:
        with plant.planted():
            raise AssertionError("unreachable")

    with pytest.raises(NothingPlanted, match="no_such_method"):
        walk(run, [0])
