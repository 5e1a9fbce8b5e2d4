"""Which objects remain after a merge: plain sets, one letter for each object."""

import pytest

from lochan.pools.merge_objects import Rows, SettledObjects, Side, Step, families, settle


def objects(text: str) -> frozenset[str]:
    return frozenset(text)


def step(text: str) -> Step:
    """`ab>c`: a and b went, c came."""
    removed, _, added = text.partition(">")
    return Step(objects(removed), objects(added))


def side(*held: str) -> Side:
    """What one side held, commit after commit."""
    *before, now = map(objects, held)
    return Side(now, before, frozenset().union(*before) - now)


@pytest.mark.parametrize(
    "base, ours, theirs, steps, removed, added, rows",
    [
        pytest.param("", ["a"], ["b"], [">a", ">b"], "", "b", None, id="two loads"),
        pytest.param("x", ["x"], ["y"], ["x>y"], "x", "y", None, id="theirs compacted"),
        pytest.param("x", ["y"], ["x", "xa"], ["x>y", ">a"], "", "a", None, id="ours compacted, theirs loaded"),
        pytest.param("x", ["y"], ["z"], ["x>y", "x>z"], "", "", ("x", "y", "z"), id="both compacted"),
        pytest.param("x", ["y"], [""], ["x>y", "x>"], "", "", ("x", "y", ""), id="compacted here, deleted there"),
        pytest.param("x", [""], [""], ["x>", "x>"], "", "", None, id="deleted on both sides"),
        pytest.param("", ["d", "y"], ["d"], [">d", "d>y", ">d"], "", "", None, id="picked, then compacted here"),
        pytest.param("", ["d"], ["d", "y"], [">d", ">d", "d>y"], "d", "y", None, id="picked, then compacted there"),
        pytest.param("", ["d", "y"], ["d", "z"], [">d", "d>y", "d>z"], "", "", ("d", "y", "z"), id="and on both sides"),
        pytest.param("", ["d", ""], ["d"], [">d", "d>", ">d"], "", "", None, id="picked, then deleted here"),
        pytest.param("", ["d"], ["d", ""], [">d", ">d", "d>"], "", "", None, id="picked, then deleted there"),
        pytest.param("y", ["y"], ["x"], ["y>x"], "y", "x", None, id="theirs took a compaction back"),
        pytest.param("x", ["", "x"], [""], ["x>", ">x", "x>"], "x", "", None, id="deleted and restored here"),
        pytest.param("ax", ["ay"], ["bx"], ["x>y", "a>b"], "a", "b", None, id="each replaced another"),
    ],
)
def test_a_merge(
    base: str,
    ours: list[str],
    theirs: list[str],
    steps: list[str],
    removed: str,
    added: str,
    rows: tuple[str, str, str] | None,
) -> None:
    found = settle(objects(base), side(*ours), side(*theirs), map(step, steps))
    computed = () if rows is None else (Rows(*map(objects, rows)),)
    assert found == SettledObjects(objects(removed), objects(added), computed)


def test_families_are_what_steps_connect() -> None:
    steps = [
        step("ab>c"),
        step(">d"),
        step("e>"),
        step("c>f"),
        step("g>h"),
        Step(objects(""), objects("k"), (objects("kd"),)),
    ]
    found = {"".join(sorted(family)) for family in families(steps, objects("adez"))}
    assert found == {"abcf", "dk", "e", "z"}
