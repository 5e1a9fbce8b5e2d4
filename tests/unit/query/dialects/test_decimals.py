"""Keys sort like numbers, and parts add up to the sum, for numbers of every size and sign."""

from __future__ import annotations

import random
from decimal import Decimal, localcontext

import duckdb
import pytest

from lochan.query.compile.numbers import constant_key
from lochan.query.dialects.decimals import refusal
from lochan.query.dialects.duckdb import FORMS

CHANCE = random.Random(7)
SOME = [
    *(
        "0",
        "-0",
        "0.0",
        "1",
        "-1",
        "10",
        "33.33333333333333333333",
        "18446744073709551615",
        "-1e400",
        "1e400",
        "1E-400",
    ),
    *("0.00012", "-0.00012", "1.10", "123456.789e-3", "5e+7", "-1.2", "-1.25", "9" * 45, "0.5", "-7", "-0.5e-30"),
]


def numbers(count: int) -> list[str]:
    found = []
    for _ in range(count):
        digits, scale = CHANCE.choice([1, 5, 20, 30]), CHANCE.choice([0, 1, 10, 26, 27, 28, 40, 54])
        number = Decimal(CHANCE.randrange(10**digits)).scaleb(-scale) * CHANCE.choice([1, -1])
        found.append(str(number))
    return found


def evaluate(form: str, of: list[str]) -> list[str]:
    rows = duckdb.connect().execute(f"SELECT {form} FROM (SELECT UNNEST(?::VARCHAR[]) AS x)", [of]).fetchall()
    return [row[0] for row in rows]


def test_keys_order_as_numbers_do() -> None:
    all = [*SOME, *numbers(300)]
    keys = evaluate(FORMS["number_key"](["x"], ()), all)
    by_key = [Decimal(each) for _, each in sorted(zip(keys, all, strict=True))]
    assert by_key == sorted(map(Decimal, all))
    assert keys == [constant_key(Decimal(each)) for each in all]


def test_a_key_gives_its_number_back() -> None:
    all = [*SOME, *numbers(300)]
    texts = evaluate(FORMS["number_text"]([FORMS["number_key"](["x"], ())], ()), all)
    assert [Decimal(each) for each in texts] == [Decimal(each) for each in all]


@pytest.mark.thorough
def test_a_sum_is_exact() -> None:
    parts = (f"SUM({FORMS[name](['x'], ('a sum',))})" for name in ("decimal_whole", "decimal_rest", "decimal_tail"))
    total = FORMS["decimal_total"](list(parts), ())
    for count in (1, 2, 3, 7, 50):
        for _ in range(5):
            some = numbers(count)
            with localcontext(prec=200):
                assert Decimal(evaluate(total, some)[0]) == sum(map(Decimal, some))


def test_a_number_that_does_not_fit_ends_the_query() -> None:
    with pytest.raises(duckdb.Error) as error:
        evaluate(FORMS["decimal_whole"](["x"], ("a sum",)), ["1e400"])
    assert refusal(str(error.value)) == "a sum: 1e400"
    assert refusal("something else") is None
