"""Numbers that neither 64 bits nor a double hold, as a column of decimals beside their texts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lochan.pools.facts import Facts, from_metadata, to_metadata
from lochan.pools.layout import DecimalColumn
from lochan.pools.settings import parse
from tests.unit.engines.load.load_text import Made, load_texts

U64, LONG = "18446744073709551615", "33.33333333333333333333"


def load(*texts: str) -> Made:
    (made,) = load_texts([f'{{"k":{number},"x":{text}}}' for number, text in enumerate(texts)], parse(["k"]))
    return made


@pytest.mark.parametrize(
    "texts, scale, values",
    [
        pytest.param([U64, "7", "2.5"], 0, [Decimal(U64), None, None], id="beyond 64 bits"),
        pytest.param([LONG, "-" + LONG], 20, [Decimal(LONG), Decimal("-" + LONG)], id="as many digits as it needs"),
        pytest.param([LONG, "12345678901234567.25"], 20, [Decimal(LONG), Decimal("12345678901234567.25")], id="two"),
        pytest.param(["123456789012345678901e-3", '"1"'], 3, [Decimal("123456789012345678.901"), None], id="a power"),
        pytest.param(["9" * 38], 0, [Decimal("9" * 38)], id="38 digits"),
        pytest.param([U64, '[1, "a"]', "null"], 0, [Decimal(U64), None, None], id="beside a list"),
    ],
)
def test_a_column_of_the_scale_that_the_values_need(texts: list[str], scale: int, values: list[Any]) -> None:
    made = load(*texts)
    (column,) = made.facts.decimals
    assert (column.text, column.column, column.scale) == (("x#j",), "x#d", scale)
    assert made.table["x#d"].type == pa.decimal128(38, scale)
    assert made.table["x#d"].to_pylist() == values
    assert [row["x"] for row in made.rows()] == [row["x"] for row in load_texts_alone(texts)]


def load_texts_alone(texts: list[str]) -> list[dict[str, Any]]:
    from lochan.pools.json_row import read_row

    return [read_row(f'{{"x":{text}}}') for text in texts]


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(["9" * 39], id="too many digits"),
        pytest.param([U64, "1e400"], id="beyond all floats"),
        pytest.param(["9" * 30, "0." + "1" * 20], id="too many on both sides of the point"),
    ],
)
def test_none_where_not_all_numbers_are_held(texts: list[str]) -> None:
    """So that a reader who finds the column need not look for others."""
    made = load(*texts)
    assert made.facts.decimals == ()
    assert made.table.column_names == ["_shape", "k", "x#j"]


def test_texts_without_a_number_are_recorded_too() -> None:
    assert load('[1, "a"]').facts.decimals == (DecimalColumn(("x#j",), ""),)


def test_inside_of_an_object() -> None:
    texts = [f'{{"k":1,"o":{{"x":{U64}}},"o.x":{LONG}}}']
    (made,) = load_texts(texts, parse(["k"]))
    assert {each.column for each in made.facts.decimals} == {"o#.x#d", "o.x#d"}
    assert made.table["o#.x#d"].to_pylist() == [Decimal(U64)]
    assert made.table["o.x#d"].to_pylist() == [Decimal(LONG)]


def test_the_least_and_the_greatest_are_known() -> None:
    facts = load(LONG, "-0.1000000000000000055", "12345678901234567.25").facts
    (column,) = (each for each in facts.columns if each.path == ("x#d",))
    assert (column.kind, column.present) == ("decimal", 3)
    assert (Decimal(str(column.least)), Decimal(str(column.greatest))) == (
        Decimal("-0.1000000000000000055"),
        Decimal("12345678901234567.25"),
    )


def test_facts_of_earlier_times_have_none() -> None:
    facts = load(U64).facts
    old = Facts(facts.rows, facts.keyless, facts.key_min, facts.key_max, facts.shapes)
    assert from_metadata(to_metadata(old)).decimals == ()
    assert from_metadata(to_metadata(facts)).decimals == facts.decimals
