"""Compaction: what is chosen, and the result."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from lochan.formats.entry import Change
from lochan.formats.run import changes_of, empty
from lochan.staging.compaction import CompactionLimits, CompactionPlan, CompactionResult, compact, plan
from lochan.staging.inline import Inline
from lochan.staging.layers import EMPTY, Layers
from lochan.staging.runs import Runs
from tests.run import run
from tests.unit.staging.fakes import entry, gone, new_runs, ref, table

LIMITS = CompactionLimits(inline_count=3, inline_bytes=1 << 20, runs=2, ratio=4)


def puts(layers: Layers, count: int) -> Layers:
    return layers.put(*(entry(f"p{at}") for at in range(count)))


def l1(layers: Layers, *ids: str) -> Layers:
    return layers.append(*(ref(id, 1, 10) for id in ids))


@pytest.mark.parametrize(
    "layers, chosen, level",
    [
        pytest.param(EMPTY, None, 0, id="nothing"),
        pytest.param(puts(EMPTY, 2), None, 0, id="few inline changes"),
        pytest.param(puts(EMPTY, 3), ["inline"], 1, id="enough inline changes"),
        pytest.param(puts(puts(EMPTY, 2).seal(1), 2), None, 0, id="enough, but on both sides of a seal"),
        pytest.param(puts(EMPTY, 3).seal(1), ["inline"], 1, id="below a seal"),
        pytest.param(puts(puts(EMPTY, 3).seal(1), 4), ["inline"], 1, id="the newest segment first"),
        pytest.param(puts(puts(EMPTY, 2).seal(1), 2).unsealed(), ["inline", "inline"], 1, id="where a seal was"),
        pytest.param(l1(EMPTY, "A", "B"), None, 0, id="few runs"),
        pytest.param(l1(EMPTY, "A", "B", "C"), ["A", "B", "C"], 2, id="enough runs"),
        pytest.param(
            puts(l1(EMPTY.append(ref("L", 2, 99)), "A", "B", "C"), 1), ["L", "A", "B", "C"], 2, id="with the L2 below"
        ),
        pytest.param(
            l1(EMPTY.append(ref("L", 2, 999)), "A", "B", "C"), ["A", "B", "C"], 2, id="without a far larger one"
        ),
        pytest.param(
            l1(EMPTY.append(ref("K", 2, 300), ref("L", 2, 99)), "A", "B", "C"),
            ["K", "L", "A", "B", "C"],
            2,
            id="each L2 against all above it",
        ),
        pytest.param(
            l1(puts(l1(EMPTY, "A"), 1), "B"), ["A", "inline", "B"], 2, id="inline changes caught between runs"
        ),
        pytest.param(l1(l1(EMPTY, "A", "B").seal(1), "C", "D"), None, 0, id="runs on both sides of a seal"),
        pytest.param(puts(l1(EMPTY, "A", "B", "C"), 5), ["A", "B", "C"], 2, id="runs before inline changes"),
    ],
)
def test_plans(layers: Layers, chosen: list[str] | None, level: int) -> None:
    found = plan(layers, LIMITS)
    assert (found is None) == (chosen is None)
    if found is not None:
        assert (["inline" if isinstance(each, Inline) else each.id for each in found.layers], found.level) == (
            chosen,
            level,
        )
        layers.replace(found.inputs, (ref("N", level),))


def test_bytes_count_too() -> None:
    assert plan(puts(EMPTY, 1), LIMITS._replace(inline_bytes=10)) is not None


def test_planning_comes_to_an_end() -> None:
    layers = EMPTY
    for step in range(40):
        layers = l1(puts(layers, 2), f"R{step}")
    for step in range(100):
        chosen = plan(layers, LIMITS)
        if chosen is None:
            break
        size = sum(layer.count for layer in chosen.layers)
        layers = layers.replace(chosen.inputs, (ref(f"N{step}", chosen.level, size),))
    assert plan(layers, LIMITS) is None and len(layers.layers) <= 5


# --- merging --------------------------------------------------------------------------------------------------------
HEAD = {"h"}


async def head_has(paths: pa.StringArray) -> npt.NDArray[np.bool_]:
    return np.array([path in HEAD for path in paths.to_pylist()], np.bool_)


def changes_in(done: CompactionResult) -> pa.Table:
    async def gathered() -> pa.Table:
        return pa.concat_tables([empty(), *[table async for table in done.changes()]])

    return run(gathered())


def append(layers: Layers, runs: Runs, *changes: Change) -> Layers:
    return layers.append(*run(runs.write_cut(table(*changes), 1, 1)))


def test_newest_wins() -> None:
    runs, _ = new_runs()
    layers = append(append(EMPTY, runs, entry("a", 1), entry("b", 1)), runs, entry("a", 2), gone("b")).put(gone("a"))
    done = compact(CompactionPlan(layers.layers, 2), layers, runs)
    assert changes_of(changes_in(done)) == [gone("a"), gone("b")]
    assert not done.dropped


def test_tombstones_go_where_nothing_lies_below() -> None:
    """S3: `h` is in the head, `r` in a run below a seal, `t` hidden by a tombstone there."""
    runs, _ = new_runs()
    layers = append(EMPTY, runs, entry("r"), gone("t")).seal(1)
    layers = layers.put(gone("h"), gone("r"), gone("t"), gone("x"), entry("y"))
    done = compact(CompactionPlan(layers.layers[1:], 1), layers, runs, head_has)
    assert changes_of(changes_in(done)) == [gone("h"), gone("r"), gone("t"), entry("y")]
    assert done.dropped


def test_without_the_head_every_tombstone_stays() -> None:
    runs, _ = new_runs()
    layers = EMPTY.put(gone("x"))
    done = compact(CompactionPlan(layers.layers, 1), layers, runs)
    assert changes_of(changes_in(done)) == [gone("x")] and not done.dropped


def test_nothing_may_be_left() -> None:
    runs, _ = new_runs()
    layers = EMPTY.put(entry("x")).put(gone("x"))
    done = compact(CompactionPlan(layers.layers, 1), layers, runs, head_has)
    outputs = run(runs.write_cut(done.changes(), done.level, 1))
    assert done.dropped and outputs == ()
    assert layers.replace(done.inputs, outputs).empty


def test_compacting_twice_is_compacting_once() -> None:
    runs, _ = new_runs()
    layers = append(EMPTY.put(entry("a"), gone("b")), runs, entry("c"))
    chosen = CompactionPlan(layers.layers, 2)
    one, two = (compact(chosen, layers, runs, head_has) for _ in range(2))
    assert one.inputs == two.inputs and changes_in(one).equals(changes_in(two))
