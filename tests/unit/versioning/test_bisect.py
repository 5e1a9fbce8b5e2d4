"""Bisecting small graphs, and random ones against trying every commit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.errors import Invalid
from lochan.formats.commit import Commit
from lochan.versioning.revisions.bisect import BisectMarks, rounds, step
from lochan.versioning.revisions.graph import is_ancestor, log
from tests.unit.versioning.history import graph


def marks(bad: str, *good: str, skipped: tuple[str, ...] = ()) -> BisectMarks:
    return BisectMarks(bad, frozenset(good), frozenset(skipped))


def chain(count: int) -> dict[str, Commit]:
    return graph("c0", *(f"c{n} c{n - 1}" for n in range(1, count)))


def search(commits: dict[str, Commit], start: BisectMarks, first_bad: str) -> tuple[str, int]:
    """The result if everything that descends from `first_bad` is bad, and the number of tests."""
    known, tests = start, 0
    while (now := step(commits.__getitem__, known)).test:
        tests += 1
        if is_ancestor(commits.__getitem__, first_bad, now.test):
            known = known._replace(bad=now.test)
        else:
            known = known._replace(good=known.good | {now.test})
    assert len(now.candidates) == 1
    return now.candidates[0], tests


def test_the_middle_of_a_line() -> None:
    now = step(chain(9).__getitem__, marks("c8", "c0"))
    assert now.test == "c4"
    assert (now.candidates, now.left) == (tuple(f"c{n}" for n in range(8, 0, -1)), 4)


@pytest.mark.parametrize("first_bad", range(1, 101))
def test_a_line_takes_the_logarithm(first_bad: int) -> None:
    found, tests = search(chain(101), marks("c100", "c0"), f"c{first_bad}")
    assert found == f"c{first_bad}"
    assert tests <= rounds(100) == 7


def test_neighbours_need_no_test() -> None:
    now = step(chain(3).__getitem__, marks("c2", "c1"))
    assert (now.test, now.candidates) == ("", ("c2",))


def test_lines_that_were_merged_are_counted_once() -> None:
    commits = graph("a", *_line("x", 4, "a"), *_line("y", 4, "a"), "m x4 y4", *_line("z", 3, "m"))
    now = step(commits.__getitem__, marks("z3", "a"))
    # Twelve: x and y with four each, m, z1 to z3. Below m are eight; of x4 or y4, four; either leaves eight.
    assert now.left == 8
    assert now.test in ("x4", "y4")


def test_what_is_good_settles_only_its_own_line() -> None:
    commits = graph("a", *_line("x", 3, "a"), *_line("y", 3, "a"), "m x3 y3")
    now = step(commits.__getitem__, marks("m", "a", "x3"))
    assert set(now.candidates) == {"m", "y1", "y2", "y3"}
    assert now.test == "y2"


def test_a_skipped_one_is_not_asked_for() -> None:
    now = step(chain(9).__getitem__, marks("c8", "c0", skipped=("c4",)))
    assert now.test in ("c3", "c5")
    now = step(chain(5).__getitem__, marks("c4", "c0", skipped=("c1", "c2", "c3")))
    assert (now.test, now.candidates) == ("", ("c4", "c3", "c2", "c1"))


def test_a_good_one_beside_the_bad_one_asks_for_where_they_parted() -> None:
    commits = graph("a", "b a", *_line("x", 4, "b"), "good b")
    look_up = commits.__getitem__
    assert step(look_up, marks("x4", "good")).test == "b"
    assert step(look_up, marks("x4", "good", "b")).test == "x2"
    with pytest.raises(Invalid, match="swapped"):
        step(look_up, marks("b", "good"))


def test_contradictions() -> None:
    with pytest.raises(Invalid, match="swapped"):
        step(chain(3).__getitem__, marks("c0", "c2"))
    with pytest.raises(Invalid, match="swapped"):
        step(chain(3).__getitem__, marks("c1", "c1"))
    with pytest.raises(Invalid, match="no history in common"):
        step(graph("a", "x").__getitem__, marks("a", "x"))


@pytest.mark.parametrize(("count", "expected"), [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (1_000, 10)])
def test_rounds(count: int, expected: int) -> None:
    assert rounds(count) == expected


@pytest.mark.thorough
def test_a_hundred_thousand_commits() -> None:
    now = step(chain(100_000).__getitem__, marks("c99999", "c0"))
    assert abs(2 * now.left - 99_999) <= 100


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Commit]:
    lines = ["c0"]
    for number in range(1, draw(st.integers(2, 24))):
        parents = draw(st.lists(st.integers(max(0, number - 5), number - 1), min_size=1, max_size=3, unique=True))
        lines.append(" ".join(f"c{n}" for n in [number, *parents]))
    return graph(*lines)


@settings(max_examples=200)
@given(graphs(), st.data())
@pytest.mark.thorough
def test_every_commit_is_found(commits: dict[str, Commit], data: st.DataObject) -> None:
    bad = f"c{len(commits) - 1}"
    reached = [id for id, _ in log(commits.__getitem__, bad)]
    first_bad = data.draw(st.sampled_from([id for id in reached if id != "c0"]))
    found, tests = search(commits, marks(bad, "c0"), first_bad)
    assert found == first_bad
    assert tests < len(reached)


@settings(max_examples=100)
@given(graphs())
def test_the_choice_is_the_best_there_is(commits: dict[str, Commit]) -> None:
    bad = f"c{len(commits) - 1}"
    now = step(commits.__getitem__, marks(bad, "c0"))
    total = len(now.candidates)

    def leaves(id: str) -> int:
        weight = sum(is_ancestor(commits.__getitem__, each, id) for each in now.candidates)
        return max(weight, total - weight)

    best = min((leaves(id) for id in now.candidates if id != bad), default=total)
    assert now.left == best


def _line(name: str, count: int, start: str) -> list[str]:
    return [f"{name}1 {start}", *(f"{name}{n} {name}{n - 1}" for n in range(2, count + 1))]
