"""A float as JSON text, the way DuckDB writes it: Spark's own casts give the same digits, but in Java's notation.

Java        here
1.0E7       10000000.0      up to 1e20
1.25E-5     0.0000125       down to 1e-6
1.5E300     1.5e300         beyond
"""

from __future__ import annotations

from lochan.query.dialects.spark_words import let


def float_text(value: str) -> str:
    """NULL of NULL."""
    return let(f"CAST({value} AS STRING)", _of_text, always=True)


def _of_text(java: str) -> str:
    sign = f"CASE WHEN {java} LIKE '-%' THEN '-' ELSE '' END"
    digits = f"REGEXP_REPLACE(SPLIT_PART({java}, 'E', 1), '-|[.]0$|[.]', '')"
    power = f"TRY_CAST(SPLIT_PART({java}, 'E', 2) AS INT)"
    large = (
        f"CASE WHEN LENGTH({digits}) > {power} + 1 "
        f"THEN CONCAT(SUBSTRING({digits}, 1, {power} + 1), '.', SUBSTRING({digits}, {power} + 2)) "
        f"ELSE CONCAT(RPAD({digits}, {power} + 1, '0'), '.0') END"
    )
    small = f"CONCAT('0.', REPEAT('0', -{power} - 1), {digits})"
    rest = f"CASE WHEN LENGTH({digits}) > 1 THEN CONCAT('.', SUBSTRING({digits}, 2)) ELSE '' END"
    other = f"CONCAT(SUBSTRING({digits}, 1, 1), {rest}, 'e', {power})"
    chosen = (
        f"CASE WHEN {power} BETWEEN 7 AND 20 THEN {large} WHEN {power} BETWEEN -6 AND -4 THEN {small} ELSE {other} END"
    )
    return f"CASE WHEN CONTAINS({java}, 'E') THEN CONCAT({sign}, {chosen}) ELSE {java} END"
