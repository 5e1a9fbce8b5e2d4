"""Layers: what is put, sealed, replaced and dropped, without any file."""

from collections.abc import Callable
from time import perf_counter

import msgspec
import pytest

from lochan.errors import LochanError, NotFound, Refused
from lochan.formats.entry import Change
from lochan.staging.inline import Inline
from lochan.staging.layers import EMPTY, DumpedLayers, Inputs, Layers, inputs_of, load
from tests.unit.staging.fakes import entry, gone, ref


def inline(layers: Layers, at: int = -1) -> dict[str, Change]:
    layer = layers.layers[at]
    assert isinstance(layer, Inline)
    return {change.path: change for change in layer.changes()}


def shape(layers: Layers) -> str:
    """Inline changes as the letters of their paths, runs as their ids, seals as bars."""
    parts = []
    for item in layers.items:
        if isinstance(item, Inline):
            parts.append("".join(sorted(change.path for change in item.changes())))
        else:
            parts.append(str(getattr(item, "id", "|")))
    return " ".join(parts)


# --- staging --------------------------------------------------------------------------------------------------------
def test_the_last_put_wins_and_earlier_states_stay_as_they_were() -> None:
    one = EMPTY.put(entry("a", 1), entry("b", 1))
    two = one.put(gone("a")).put(entry("b", 2), entry("b", 3))
    assert inline(one) == {"a": entry("a", 1), "b": entry("b", 1)}
    assert inline(two) == {"a": gone("a"), "b": entry("b", 3)}
    assert EMPTY.empty and not one.empty


def test_putting_nothing_changes_nothing() -> None:
    assert EMPTY.put() == EMPTY


def test_a_run_parts_inline_changes() -> None:
    assert shape(EMPTY.put(entry("a")).append(ref("R")).put(entry("b")).put(entry("c"))) == "a R bc"


def test_a_run_is_staged_once() -> None:
    with pytest.raises(Refused, match="staged already"):
        EMPTY.append(ref("R")).append(ref("R"))


def test_counts() -> None:
    layers = EMPTY.append(ref("R", size=7)).put(entry("a"), entry("b"), entry("a"))
    assert (layers.count, layers.inline_count) == (9, 2)
    assert layers.inline_bytes > EMPTY.put(entry("a"), entry("b")).inline_bytes  # a replaced change was written too


def test_a_put_costs_the_same_with_many_staged() -> None:
    """Ten thousand copies of a dictionary of ten thousand would take half an hour."""
    layers = EMPTY
    begun = perf_counter()
    for at in range(10_000):
        layers = layers.put(entry(f"{at * 7919 % 10_007}"))
    assert perf_counter() - begun < 5
    (only,) = layers.layers
    assert isinstance(only, Inline) and only.count == 10_000 and len(only.pieces) <= 14


def test_what_is_fresh_since_an_earlier_state() -> None:
    older = EMPTY.put(entry("a"), entry("b")).append(ref("R"))
    newer = older.put(gone("a")).append(ref("S")).put(entry("c"))
    fresh = newer.fresh_since(older)
    assert sorted(fresh.changes, key=lambda change: change.path) == [gone("a"), entry("c")]
    assert [run.id for run in fresh.runs] == ["S"]
    nothing = older.fresh_since(older)
    assert (nothing.changes, nothing.runs) == ([], ())


def test_a_stash_comes_back_under_positions_of_its_own() -> None:
    stashed = EMPTY.put(entry("a")).append(ref("R")).seal(1).put(entry("b"))
    under_way = inputs_of(stashed.layers[:1])
    popped = stashed.cleared().put(entry("x")).cleared().restored(stashed)
    assert shape(popped) == "a R b"
    with pytest.raises(Refused):
        popped.replace(under_way, (ref("N"),))


# --- seals ----------------------------------------------------------------------------------------------------------
def test_a_seal_keeps_what_lies_below_from_later_puts() -> None:
    layers = EMPTY.put(entry("a", 1)).seal(5).put(entry("a", 2), entry("b"))
    assert inline(layers.below(5)) == {"a": entry("a", 1)}
    assert inline(layers.after(5)) == {"a": entry("a", 2), "b": entry("b")}
    assert layers.seals == (5,) and layers.unsealed().seals == ()
    assert shape(layers.unsealed()) == "a ab"


def test_seals_of_one_record_cannot_be_told_apart() -> None:
    with pytest.raises(Refused, match="there is a seal"):
        EMPTY.seal(5).put(entry("a")).seal(5)


@pytest.mark.parametrize("ask", [Layers.below, Layers.after, Layers.drop_below])
def test_a_seal_that_does_not_stand(ask: Callable[[Layers, int], Layers]) -> None:
    with pytest.raises(NotFound, match="seal 6"):
        ask(EMPTY.seal(5), 6)


def test_a_commit_drops_what_is_below_and_puts_the_leftovers_under_the_rest() -> None:
    layers = EMPTY.put(entry("a")).seal(1).append(ref("R")).seal(2).put(entry("b")).seal(3).append(ref("S"))
    assert shape(layers.drop_below(2)) == "b S"
    left = layers.drop_below(2, (ref("L"),), [gone("a"), entry("c")])
    assert shape(left) == "L ac b S"
    assert left.seals == ()  # a head move removes every seal (S1)
    assert shape(left.put(entry("d"))) == "L ac b S d"


# --- compaction -----------------------------------------------------------------------------------------------------
BEFORE = EMPTY.append(ref("P", 2), ref("Q")).put(entry("a"), entry("b")).seal(9).put(entry("c")).append(ref("R"))


@pytest.mark.parametrize(
    "inputs, after",
    [
        pytest.param(Inputs(((1, 2),), ()), "P Q N | c R", id="inline changes"),
        pytest.param(Inputs((), ("P", "Q")), "N ab | c R", id="runs"),
        pytest.param(Inputs(((1, 2),), ("Q",)), "P N | c R", id="both"),
        pytest.param(Inputs(((1, 1),), ()), "P Q N b | c R", id="those that came meanwhile stay above"),
        pytest.param(Inputs(((3, 3),), ("R",)), "P Q ab | N", id="above a seal"),
    ],
)
def test_the_output_stands_in_the_place_of_the_inputs(inputs: Inputs, after: str) -> None:
    done = BEFORE.replace(inputs, (ref("N"),))
    assert shape(done) == after
    with pytest.raises(Refused):
        done.replace(inputs, (ref("M"),))


@pytest.mark.parametrize(
    "inputs",
    [
        pytest.param(Inputs((), ()), id="nothing"),
        pytest.param(Inputs((), ("X",)), id="a run that is not there"),
        pytest.param(Inputs(((1, 2),), ("Q", "X")), id="one of several is not there"),
        pytest.param(Inputs(((2, 2),), ()), id="the middle of a layer"),
        pytest.param(Inputs(((1, 3),), ()), id="more than a layer has"),
        pytest.param(Inputs(((1, 2), (3, 3)), ()), id="from both sides of a seal"),
        pytest.param(Inputs(((1, 2),), ("P",)), id="not side by side"),
        pytest.param(Inputs(((3, 2),), ("R",)), id="a layer that would be cut below another"),
    ],
)
def test_what_cannot_be_replaced(inputs: Inputs) -> None:
    with pytest.raises(Refused):
        BEFORE.replace(inputs, (ref("N"),))


def test_a_lower_layer_that_grew_is_not_cut_in_two() -> None:
    layers = EMPTY.put(entry("a"), entry("b")).append(ref("R"))
    with pytest.raises(Refused, match="grown"):
        layers.replace(Inputs(((1, 1),), ("R",)), (ref("N"),))


def test_outputs_may_be_several_or_none() -> None:
    assert shape(BEFORE.replace(Inputs((), ("P", "Q")), (ref("N"), ref("M")))) == "N M ab | c R"
    assert shape(BEFORE.replace(Inputs((), ("P", "Q")), ())) == "ab | c R"


def test_puts_of_one_record_on_both_sides_of_its_seal_are_told_apart() -> None:
    """Put, seal and put in record 7: a compaction of the upper put must not replace the lower one."""
    layers = EMPTY.put(entry("a")).seal(7).put(entry("b"))
    upper = inputs_of(layers.after(7).layers)
    assert shape(layers.replace(upper, (ref("N"),))) == "a | N"


def test_positions_are_not_used_again_after_a_reset() -> None:
    layers = EMPTY.put(entry("a"))
    under_way = inputs_of(layers.layers)
    with pytest.raises(Refused):
        layers.cleared().put(entry("b")).replace(under_way, (ref("N"),))


def test_lower_layers_are_found_across_seals() -> None:
    assert [getattr(layer, "id", "inline") for layer in BEFORE.lower(Inputs((), ("R",)))] == [
        "P",
        "Q",
        "inline",
        "inline",
    ]


def test_a_compaction_is_refused_after_a_commit_took_its_inputs() -> None:
    with pytest.raises(LochanError):
        BEFORE.drop_below(9).replace(Inputs((), ("P", "Q")), (ref("N"),))


# --- checkpoints ----------------------------------------------------------------------------------------------------
def test_a_checkpoint_brings_back_the_same_layers() -> None:
    layers = BEFORE.put(gone("z"), entry("c", 2))
    again = load(msgspec.msgpack.decode(msgspec.msgpack.encode(layers.dump()), type=DumpedLayers))
    assert shape(again) == shape(layers)
    assert again.dump() == layers.dump()
    assert inline(again) == inline(layers)
    assert shape(again.replace(Inputs(((1, 1),), ()), (ref("N"),))) == "P Q N b | c R cz"
