"""A float as JSON text, the way DuckDB writes it: the fewest digits that say which float it is.

    1e7       10000000.0      up to 1e20
    1.25e-5   0.0000125       down to 1e-6
    1.5e300   1.5e300         beyond

Java has another notation, and before version 19 more digits than it needs for some: 1.9999999999999998E23 for 2e23.
Fifteen digits are enough for what people write, seventeen for all.
"""

from __future__ import annotations

from collections.abc import Callable

from lochan.query.dialects.spark_words import let


def float_text(value: str) -> str:
    """NULL of NULL."""
    return f"CASE WHEN {value} IS NOT NULL THEN {let(shortest(value), _of_text, always=True)} END"


def shortest(value: str) -> str:
    """Always with a power of ten, and zeros behind the digits."""
    arms = [f"WHEN TRY_CAST({text} AS DOUBLE) = {value} THEN {text}" for text in map(_digits(value), (15, 16))]
    return f"CASE {' '.join(arms)} ELSE {_digits(value)(17)} END"


def _digits(value: str) -> Callable[[int], str]:
    return lambda count: f"FORMAT_STRING('%.{count - 1}e', {value})"


def _of_text(java: str) -> str:
    """Of a text such as 1.50000000000000e+300; Infinity and NaN have no power, and stay what they are."""
    sign = f"CASE WHEN {java} LIKE '-%' THEN '-' ELSE '' END"
    digits = f"REGEXP_REPLACE(REGEXP_REPLACE(SPLIT_PART({java}, 'e', 1), '[-.]', ''), '0+$', '')"
    power = f"TRY_CAST(SPLIT_PART({java}, 'e', 2) AS INT)"
    large = (
        f"CASE WHEN LENGTH({digits}) > {power} + 1 "
        f"THEN CONCAT(SUBSTRING({digits}, 1, {power} + 1), '.', SUBSTRING({digits}, {power} + 2)) "
        f"ELSE CONCAT(RPAD({digits}, {power} + 1, '0'), '.0') END"
    )
    small = f"CONCAT('0.', REPEAT('0', -{power} - 1), {digits})"
    rest = f"CASE WHEN LENGTH({digits}) > 1 THEN CONCAT('.', SUBSTRING({digits}, 2)) ELSE '' END"
    other = f"CONCAT(SUBSTRING({digits}, 1, 1), {rest}, 'e', {power})"
    near = f"WHEN {power} BETWEEN 0 AND 20 THEN {large} WHEN {power} BETWEEN -6 AND -1 THEN {small}"
    return f"CASE WHEN {power} IS NULL THEN {java} ELSE CONCAT({sign}, CASE {near} ELSE {other} END) END"
