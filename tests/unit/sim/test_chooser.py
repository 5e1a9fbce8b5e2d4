"""Budgets, the log, and the three ways to choose."""

from collections import Counter
from types import SimpleNamespace

from tests.sim.chooser import UNLIMITED, Option, Replay, Script, Stretches, Walk

MENU = [("go on", None), ("other", "preempt"), ("lost", "fault"), ("late", "fault")]


def test_a_kind_is_on_offer_only_while_its_budget_lasts() -> None:
    chooser = Replay([2, 1, 1], {"fault": 1, "preempt": 1})
    assert chooser.choose(MENU) == 2
    assert chooser.choose(MENU) == 1  # of "go on" and "other"
    assert chooser.choose(MENU) == 0
    assert chooser.log == [(2, 4), (1, 2)]  # the third was no choice any more
    assert not chooser.allows("fault")


def test_the_index_is_that_of_the_caller_not_of_what_was_left() -> None:
    assert Replay([1], {"fault": 1}).choose(MENU) == 2


def test_after_its_list_a_replay_takes_the_default_and_so_it_does_for_what_is_not_there() -> None:
    chooser = Replay([9], {"fault": 1})
    assert [chooser.choose(MENU) for _ in range(3)] == [0, 0, 0]


def test_a_walk_is_a_function_of_its_seed() -> None:
    def play(seed: int) -> list[int]:
        chooser = Walk(seed)
        return [chooser.choose(MENU) for _ in range(200)]

    assert play(1) == play(1)
    assert len({tuple(play(seed)) for seed in range(20)}) > 15


def test_a_walk_treats_free_options_as_equals_and_kinds_by_their_rate() -> None:
    chooser = Walk(3, {"fault": 10_000}, {"fault": [0.1]})
    taken = Counter(chooser.choose([("a", None), ("b", None), ("c", "fault")]) for _ in range(3_000))
    assert 1_200 < taken[0] < 1_500 and 1_200 < taken[1] < 1_500 and 200 < taken[2] < 400


def test_a_walk_spends_no_more_than_its_budget() -> None:
    chooser = Walk(3, {"fault": 2}, {"fault": [0.5]})
    assert sum(chooser.choose([("a", None), ("b", "fault")]) for _ in range(100)) == 2


def test_a_script_takes_the_options_it_names() -> None:
    chooser = Script(["late", "other"])
    assert [chooser.choose(MENU) for _ in range(3)] == [3, 1, 0]
    assert chooser.words == []


def test_a_machine_goes_on_for_a_stretch_of_its_own_length() -> None:
    """A machine that sends a hundred requests goes on for long, and one that sends two does not."""
    lengths = {"short": 2, "long": 100}
    went_on: dict[str, list[int]] = {"short": [0], "long": [0]}
    chooser = Stretches(0, {"preempt": UNLIMITED}, {}, lengths)
    current, other = "short", "long"
    for _ in range(5_000):
        options: list[Option] = [(SimpleNamespace(machine=current), None), (SimpleNamespace(machine=other), "preempt")]
        if chooser.choose(options):
            current, other = other, current
            went_on[current].append(0)
        went_on[current][-1] += 1
    assert max(went_on["short"]) <= 3 and max(went_on["long"]) > 80
    assert min(went_on["long"][1:-1]) <= 3, "a long one is disturbed early, too"
