"""The commit graph against the definitions, on small graphs drawn by hand and on random ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from lochan.formats.commit import Commit
from lochan.versioning.revisions.graph import is_ancestor, log, merge_bases, only_left, topological
from tests.unit.versioning.history import graph


def test_a_log_goes_from_child_to_parent() -> None:
    commits = graph("a", "b a", "c a", "m b c", "n m")
    assert [id for id, _ in log(commits.__getitem__, "n")] == ["n", "m", "c", "b", "a"]
    assert [id for id, _ in log(commits.__getitem__, "n", first_parent=True)] == ["n", "m", "b", "a"]


def test_a_log_reads_only_what_it_shows() -> None:
    commits = graph("c0", *(f"c{n + 1} c{n}" for n in range(1_000)))
    asked: list[str] = []

    def look_up(id: str) -> Commit:
        asked.append(id)
        return commits[id]

    assert next(log(look_up, "c1000"))[0] == "c1000"
    assert set(asked) == {"c1000"}


def test_a_log_shows_the_youngest_first_across_merges() -> None:
    """A short branch that is young comes before a long one that is old, though its generations are smaller."""
    commits = graph("a", "old1 a", "old2 old1", "old3 old2", "young a", "m old3 young")
    dates = {"a": 1, "old1": 2, "old2": 3, "old3": 4, "young": 9, "m": 10}
    dated = {id: replace(commit, date=dates[id]) for id, commit in commits.items()}
    assert [id for id, _ in log(dated.__getitem__, "m")] == ["m", "young", "old3", "old2", "old1", "a"]
    dated["a"] = replace(dated["a"], date=99)  # a clock was off: still behind its children
    assert [id for id, _ in log(dated.__getitem__, "m")] == ["m", "young", "old3", "old2", "old1", "a"]


def test_one_line_of_history_after_the_other() -> None:
    commits = graph("a", "b a", "x a", "c b", "y x", "m c y", "n m")
    assert [id for id, _ in topological(commits.__getitem__, "n")] == ["n", "m", "y", "x", "c", "b", "a"]
    order = topological(commits.__getitem__, "n", first_parent=True)
    assert [id for id, _ in order] == ["n", "m", "c", "b", "a"]


def test_lines_are_followed_no_further_than_needed() -> None:
    commits = graph("c0", *(f"c{n + 1} c{n}" for n in range(1_000)), "side c990", "m c1000 side")
    asked: set[str] = set()

    def look_up(id: str) -> Commit:
        asked.add(id)
        return commits[id]

    order = topological(look_up, "m")
    assert [next(order)[0] for _ in range(3)] == ["m", "side", "c1000"]
    assert len(asked) < 15


def test_merge_bases_by_hand() -> None:
    assert merge_bases(graph("a", "b a", "c a").__getitem__, "b", "c") == ["a"]
    assert merge_bases(graph("a", "b a").__getitem__, "a", "b") == ["a"]
    assert merge_bases(graph("a", "x").__getitem__, "a", "x") == []
    criss_cross = graph("a", "b a", "c a", "m b c", "n c b")
    assert sorted(merge_bases(criss_cross.__getitem__, "m", "n")) == ["b", "c"]


def test_an_old_fork_does_not_cost_the_whole_history() -> None:
    commits = graph("c0", *(f"c{n + 1} c{n}" for n in range(5_000)), "left c4990", "right c4995")
    asked: set[str] = set()

    def look_up(id: str) -> Commit:
        asked.add(id)
        return commits[id]

    assert merge_bases(look_up, "left", "right") == ["c4990"]
    assert len(asked) < 50


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Commit]:
    edges = []
    for number in range(draw(st.integers(1, 14))):
        parents = draw(st.lists(st.integers(0, number - 1), max_size=2, unique=True)) if number else []
        edges.append(" ".join(f"c{n}" for n in [number, *parents]))
    return graph(*edges)


def reach(commits: dict[str, Commit], id: str) -> set[str]:
    return {id}.union(*(reach(commits, parent) for parent in commits[id].parents))


@pytest.mark.thorough
@settings(max_examples=200)
@given(graphs(), st.data())
def test_as_defined(commits: dict[str, Commit], data: st.DataObject) -> None:
    left, right = (data.draw(st.sampled_from(sorted(commits))) for _ in range(2))
    common = reach(commits, left) & reach(commits, right)
    best = {id for id in common if not any(id != other and id in reach(commits, other) for other in common)}
    assert set(merge_bases(commits.__getitem__, left, right)) == best
    assert set(only_left(commits.__getitem__, left, right)) == reach(commits, left) - reach(commits, right)
    assert is_ancestor(commits.__getitem__, left, right) == (left in reach(commits, right))
    order = [id for id, _ in log(commits.__getitem__, left)]
    assert set(order) == reach(commits, left)
    assert all(order.index(id) < order.index(p) for id in order for p in commits[id].parents)
    lines = [id for id, _ in topological(commits.__getitem__, left)]
    assert sorted(lines) == sorted(order)
    assert all(lines.index(id) < lines.index(p) for id in lines for p in commits[id].parents)
