"""A drawn graph, read as a person would read it: every line down from a commit ends at one of its parents."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.formats.commit import Commit
from lochan.notebook.commit_graph import CommitGraph
from lochan.versioning.revisions.graph import log, topological
from tests.unit.versioning.history import graph


def drawn(commits: dict[str, Commit], start: str, hidden: tuple[str, ...] = ()) -> list[str]:
    drawing, lines = CommitGraph(), []
    for id, commit in topological(commits.__getitem__, start):
        if id in hidden:
            lines += drawing.skip(id, commit.parents)
            continue
        line, rest = drawing.commit(id, commit.parents)
        lines += [f"{line}{id}", *rest]
    return [line.rstrip() for line in lines]


def picture(text: str) -> list[str]:
    return text.strip("\n").splitlines()


def test_a_line() -> None:
    assert drawn(graph("a", "b a", "c b"), "c") == ["* c", "* b", "* a"]


def test_a_merge() -> None:
    commits = graph("a", "b a", "x a", "m b x")
    assert drawn(commits, "m") == picture(r"""
* m
|\
| * x
* | b
|/
* a""")


def test_a_merge_of_a_line_that_goes_on() -> None:
    commits = graph("a", "b a", "c b", "m c b")
    assert drawn(commits, "m") == picture(r"""
* m
|\
* | c
|/
* b
* a""")


def test_a_criss_cross() -> None:
    commits = graph("a", "b a", "c a", "m b c", "n c b", "t m n")
    assert drawn(commits, "t") == picture(r"""
* t
|\
| * n
| |\
* | | m
|\| |
|_|/
| * c
* | b
|/
* a""")


def test_three_parents_and_lanes_to_the_right() -> None:
    commits = graph("a", "b a", "c a", "d a", "o b c d", "x a", "t x o")
    assert drawn(commits, "o") == picture(r"""
* o
|\
|\ \
| | * d
| * | c
| |/
* | b
|/
* a""")


def test_a_second_beginning() -> None:
    commits = graph("a", "x", "m a x", "n m")
    assert drawn(commits, "n") == picture(r"""
* n
* m
|\
| * x
* a""")


def test_what_is_not_shown_leaves_its_lines() -> None:
    commits = graph("a", "b a", "x a", "m b x", "n m")
    assert drawn(commits, "n", hidden=("m", "b")) == picture(r"""
* n
|\
| * x
|/
* a""")


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Commit]:
    lines = []
    for number in range(draw(st.integers(1, 16))):
        parents = draw(st.lists(st.integers(max(0, number - 6), number - 1), max_size=3, unique=True)) if number else []
        lines.append(" ".join(f"c{n}" for n in [number, *parents]))
    return graph(*lines)


@settings(max_examples=300)
@given(graphs(), st.booleans())
@pytest.mark.thorough
def test_every_edge_and_no_other_can_be_read(commits: dict[str, Commit], by_line: bool) -> None:
    start = f"c{len(commits) - 1}"
    order = topological if by_line else log
    drawing, lines = CommitGraph(), []
    for id, commit in order(commits.__getitem__, start):
        line, rest = drawing.commit(id, commit.parents)
        lines += [f"{line}{id}", *rest]
    assert read(lines) == edges(commits, start)


def edges(commits: dict[str, Commit], start: str) -> set[tuple[str, str]]:
    return {(id, parent) for id, commit in log(commits.__getitem__, start) for parent in commit.parents}


def read(lines: list[str]) -> set[tuple[str, str]]:
    """Pairs of child and parent, found by following the lines. `above` holds the commits whose lines reach each
    lane."""
    found: set[tuple[str, str]] = set()
    above: dict[int, set[str]] = {}
    for line in lines:
        below: dict[int, set[str]] = {}
        star = line.find("*")
        if star >= 0:
            id = line[line.index("c") :]
            found |= {(child, id) for child in above.pop(star // 2, set())}
            below[star // 2] = {id}
            line = line[: line.index("c")]
        for at, mark in enumerate(line):
            if mark == "|":
                below.setdefault(at // 2, set()).update(above.get(at // 2, set()))
            elif mark == "\\":
                below.setdefault((at + 1) // 2, set()).update(above[at // 2])
            elif mark == "/":
                to = (at - 1) // 2
                while to and line[2 * to - 1] == "_":
                    to -= 1
                below.setdefault(to, set()).update(above[(at + 1) // 2])
        above = below
    return found
