"""Many shapes with the same fields in the same order are proven together."""

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from lochan.engines.duckdb.load.shape_family import Family, families
from lochan.pools.json_row import read_row, row_text, shape_of
from lochan.pools.settings import parse
from lochan.pools.shape import Object
from tests.unit.engines.load.load_text import load_texts

COMPACT, SPACED = (",", ":"), (", ", ": ")
TYPICAL: Mapping[str, Sequence[Any]] = {
    "a": [1, -7, 2**53 + 1],
    "b": [1.5, 0.1, -0.0, 1e300],
    "c": ["", "x", "é", 'say "no"', "back\\slash", '","d":1,"', "null"],
    "d": [True, False],
    "e": [[1, 2], [None, 3]],
    "o": [{"p": 1}, {"q": "x"}, {"p": 2, "q": "y"}, {"p": 3, "r": {"s": 1}}],
    "ts": ["2026-11-01T10:00:00Z", "2026-11-02T11:00:00.500Z", "soon"],
    "last": [5],
}
ODD: Sequence[Any] = [None, {}, [], 7, 7.25, "7", "true", True, 2**63, [1, "x"], {"p": None}, {"p": "1"}]


def shapes(*rows: dict[str, Any]) -> list[Object]:
    return [shape_of(row, ()) for row in rows]


def names(found: Sequence[Family]) -> list[list[str]]:
    return [[field.name + ("?" if field.optional else "") for field in family.fields] for family in found]


def test_shapes_with_the_same_order_are_a_family() -> None:
    found = families(shapes({"a": 1, "z": 1}, {"b": "x", "z": 2}, {"a": 1, "b": "x", "z": 3}, {"z": 4}), {})
    assert names(found) == [["a?", "b?", "z"]]
    masks = [found[0].masks(shape) for shape in found[0].shapes]
    assert len(set(masks)) == 4


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({"z": 1, "a": 1}, id="another order"),
        pytest.param({"a": "x", "z": 1}, id="another kind"),
        pytest.param({"z": 1, "n": None}, id="a null, which no column tells from an absent field"),
        pytest.param({"z": 1, "n": {}}, id="an object without fields"),
        pytest.param({"z": 1, "n": []}, id="an empty list"),
        pytest.param({"z": 1, "n": 2**64}, id="a number that is kept as text"),
    ],
)
def test_a_shape_that_does_not_fit_is_not_in_the_family(odd: dict[str, Any]) -> None:
    fitting = shapes({"a": 1, "z": 1}, {"z": 1}, {"a": 1, "b": "x", "z": 1}, {"b": "x", "z": 1})
    (found,) = families([*fitting, *shapes(odd)], {})
    assert set(found.shapes) == set(fitting)


@pytest.mark.thorough
def test_more_optional_fields_than_a_word_has_bits() -> None:
    rows = [{f"f{number}": number, "z": 1} for number in range(70)]
    rows += [{f"f{number}": number for number in range(0, 70, step)} | {"z": 1} for step in (1, 2, 3)]
    texts = [json.dumps(row, separators=COMPACT) for row in rows] * 20
    made = load_texts(texts, parse(["z"]))
    assert sorted(row_text(row) for each in made for row in each.rows()) == sorted(texts)


@pytest.mark.thorough
@pytest.mark.parametrize("seed, style", [(0, COMPACT), (1, SPACED), (2, COMPACT)])
def test_rows_of_many_shapes_come_back(seed: int, style: tuple[str, str]) -> None:
    """More rows than the sample, so that most are proven; the odd ones look like members of a family."""
    random_ = random.Random(seed)
    texts = [json.dumps(_row(random_), separators=style, ensure_ascii=False) for _ in range(1_200)]
    texts += [text.replace(":1,", ":1.0,").replace('"x"', '"\\u0078"') for text in texts[:200]]
    made = load_texts(texts, parse(["ts:time"] if seed % 2 else ["last"]))
    expected = sorted(row_text(read_row(text)) for text in texts)
    assert sorted(row_text(row) for each in made for row in each.rows()) == expected


def _row(random_: random.Random) -> dict[str, Any]:
    row = {name: random_.choice(values) for name, values in TYPICAL.items() if name == "last" or random_.random() < 0.6}
    if random_.random() < 0.03:
        row[random_.choice(list(TYPICAL)[:-1])] = random_.choice(ODD)
    if random_.random() < 0.03:
        row = dict(random_.sample(list(row.items()), len(row)))
    return row
