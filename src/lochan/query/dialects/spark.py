"""What Spark calls the neutral parts of a plan, in ANSI mode: what would raise is guarded, or has a form `try_…`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lochan.pools.shape import FLOAT, INT
from lochan.query.dialects import decimals, json_order, spark_nested, spark_nets, spark_times
from lochan.query.dialects.form import (
    CAPITALS,
    SMALL,
    Form,
    Forms,
    by_option,
    folded,
    folds_alike,
    like_pattern,
    named,
    plain,
    rounded,
    slice_ends,
)
from lochan.query.dialects.spark_floats import float_text, shortest
from lochan.query.dialects.spark_words import TYPES, matches, pattern, quoted, type_text

# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _contains_folded(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text, word = arguments[0], folded(options[0])
    test = f"{text} ILIKE {quoted(like_pattern(word))}"
    if folds_alike(word):
        return f"({test})"
    return f"({test} AND CONTAINS(TRANSLATE({text}, '{CAPITALS}', '{SMALL}'), {quoted(word)}))"


def _like(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"({arguments[0]} LIKE {quoted(options[0])})"


def _split(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text, mark = arguments
    return f"SPLIT({text}, CONCAT('\\\\Q', REPLACE({mark}, '\\\\E', '\\\\E\\\\\\\\E\\\\Q'), '\\\\E'))"


def _substr(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text, start, *length = (f"CAST({each} AS INT)" if at else each for at, each in enumerate(arguments))
    if not length:
        return f"CASE WHEN {start} >= 0 THEN SUBSTRING({text}, {start} + 1) END"
    return f"CASE WHEN {start} >= 0 AND {length[0]} >= 0 THEN SUBSTRING({text}, {start} + 1, {length[0]}) END"


def _text_slice(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    low, high = slice_ends(options[0], options[1], f"CHAR_LENGTH({arguments[0]})")
    return f"SUBSTRING({arguments[0]}, {low}, GREATEST({high} - {low} + 1, 0))"


def _join_texts(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"CONCAT_WS({quoted(options[0])}, {', '.join(arguments)})"


def _groups(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    regexp, count = pattern(options[0]), options[1]
    parts = ", ".join(f"REGEXP_EXTRACT({arguments[0]}, {regexp}, {at})" for at in range(count))
    return f"CASE WHEN REGEXP_LIKE({arguments[0]}, {regexp}) THEN ARRAY({parts}) END"


def _replace_matches(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"REGEXP_REPLACE({arguments[0]}, {pattern(options[0])}, {quoted(options[1])})"


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _int_or_float(of_ints: str, symbol: str) -> Form:
    return by_option({INT: named(of_ints), FLOAT: plain(f"(({{0}}) {symbol} ({{1}}))")})


_INT_DIVIDE = plain(
    "CASE WHEN {1} <> 0 AND NOT ({1} = -1 AND {0} = CAST('-9223372036854775808' AS BIGINT)) THEN ({0}) DIV ({1}) END"
)


_SIGNED = plain("CASE WHEN SUBSTRING({0}, 1, 1) = '-' THEN SUBSTRING({0}, 2) ELSE '-' || {0} END")
_TURNED = plain("TRY_SUBTRACT(CAST(0 AS BIGINT), {0})")


def _bucket(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    value, (step, safe) = arguments[0], options
    return f"({value} - PMOD({value}, {step}))" if safe else f"TRY_SUBTRACT({value}, PMOD({value}, {step}))"


def _float_bucket(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    share = f"({arguments[0]} / {options[0]})"
    return f"({_floor(share)} * {options[0]} + 0e0)"


def _floor(value: str) -> str:
    """FLOOR would make an int of it."""
    whole = f"({value} - {value} % 1e0)"
    return f"(CASE WHEN {value} < {whole} THEN {whole} - 1e0 ELSE {whole} END + 0e0)"


def _ceil(value: str) -> str:
    whole = f"({value} - {value} % 1e0)"
    return f"(CASE WHEN {value} > {whole} THEN {whole} + 1e0 ELSE {whole} END + 0e0)"


def _members(fields: dict[str, str]) -> str:
    return "NAMED_STRUCT(" + ", ".join(f"'{name}', {value}" for name, value in fields.items()) + ")"


_WORDS = decimals.Words(
    let=lambda name, value, body: f"TRANSFORM(ARRAY({value}), {name} -> {body})[0]",
    members=_members,
    text="STRING",
    left_trim=lambda of, letters: f"TRIM(LEADING '{letters}' FROM {of})",
    right_trim=lambda of, letters: f"TRIM(TRAILING '{letters}' FROM {of})",
    quoted=quoted,
    fail=lambda message: f"RAISE_ERROR({message})",
    float_text=float_text,
    shortest=shortest,
    matches=lambda of, pattern: matches([of], (pattern,)),
    json_get=spark_nested.FORMS["json_get"],
    json_items=spark_nested.FORMS["json_items"],
    json_merged=spark_nested.json_merged,
    json_checked=spark_nested.json_checked,
    each=lambda many, name, body: f"TRANSFORM({many}, {name} -> {body})",
    found=lambda of, pattern: f"REGEXP_EXTRACT_ALL({of}, {pattern}, 0)",
    joined=lambda many: f"ARRAY_JOIN({many}, '')",
    first_group=lambda of, pattern: f"REGEXP_REPLACE({of}, {pattern}, '$1')",
)

_DECIMALS = decimals.forms(_WORDS)
_ORDER_WORDS = json_order.Words(
    quoted=quoted,
    found=_WORDS.found,
    each=_WORDS.each,
    joined=_WORDS.joined,
    json_string=spark_nested.FORMS["json_string"],
    number_key=_DECIMALS["number_key"],
)

FORMS: Forms = {
    **_DECIMALS,
    "json_order": json_order.form(_ORDER_WORDS),
    **spark_times.FORMS,
    **spark_nested.FORMS,
    **spark_nets.FORMS,
    # kinds
    "try_cast": lambda arguments, options: f"TRY_CAST({arguments[0]} AS {TYPES[options[0]]})",
    "truncate": plain("({0} - {0} % 1e0)"),
    "rounded": plain("CAST({0} AS DOUBLE)"),
    # numbers
    "add": _int_or_float("TRY_ADD", "+"),
    "subtract": _int_or_float("TRY_SUBTRACT", "-"),
    "multiply": _int_or_float("TRY_MULTIPLY", "*"),
    "safe_divide": plain("(({0}) DIV ({1}))"),
    "safe_remainder": plain("(({0}) % ({1}))"),
    "divide": by_option({INT: _INT_DIVIDE, FLOAT: plain("CASE WHEN {1} <> 0 THEN ({0}) / ({1}) END")}),
    "remainder": by_option({INT: named("TRY_MOD"), FLOAT: plain("CASE WHEN {1} <> 0 THEN ({0}) % ({1}) END")}),
    "decimal_remainder": named("TRY_MOD"),
    "negate": by_option({INT: _TURNED, "duration": _TURNED, FLOAT: plain("(-({0}))"), "decimal": _SIGNED}),
    "abs": by_option(
        {
            INT: plain("CASE WHEN {0} > CAST('-9223372036854775808' AS BIGINT) THEN ABS({0}) END"),
            "duration": plain("CASE WHEN {0} > CAST('-9223372036854775808' AS BIGINT) THEN ABS({0}) END"),
            FLOAT: named("ABS"),
            "decimal": plain("TRIM(LEADING '-' FROM {0})"),
        }
    ),
    "ceil": lambda arguments, options: _ceil(arguments[0]),
    "floor": lambda arguments, options: _floor(arguments[0]),
    "round": rounded,
    "pow": named("POWER"),
    "sqrt": plain("CASE WHEN {0} >= 0 THEN SQRT({0}) END"),
    "log": plain("CASE WHEN {0} > 0 THEN LN({0}) END"),
    "int_bucket": _bucket,
    "float_bucket": _float_bucket,
    # text
    "first_character": plain("SUBSTRING({0}, 1, 1)"),
    "matches": matches,
    "contains_folded": _contains_folded,
    "contains": named("CONTAINS"),
    "like": _like,
    "lower": plain(f"TRANSLATE({{0}}, '{CAPITALS}', '{SMALL}')"),
    "upper": plain(f"TRANSLATE({{0}}, '{SMALL}', '{CAPITALS}')"),
    "trim": plain("TRIM(BOTH ' ' FROM {0})"),
    "split": _split,
    "replace": named("REPLACE"),
    "levenshtein": plain("CAST(LEVENSHTEIN({0}, {1}) AS BIGINT)"),
    "text_length": plain("CAST(CHAR_LENGTH({0}) AS BIGINT)"),
    "substr": _substr,
    "text_slice": _text_slice,
    "join_texts": _join_texts,
    "groups": _groups,
    "replace_matches": _replace_matches,
    "base64": plain("REPLACE(BASE64(CAST({0} AS BINARY)), '\\r\\n', '')"),
    "hex": plain("LOWER(HEX(CAST({0} AS BINARY)))"),
    # rows
    "row_number": plain("ROW_NUMBER() OVER (ORDER BY MONOTONICALLY_INCREASING_ID())"),
    # aggregates: sums of ints are exact, as wide as they must be on the way
    "sum_of": by_option(
        {
            INT: lambda arguments, options: _wide_sum(arguments[0]),
            "duration": lambda arguments, options: _wide_sum(arguments[0]),
            FLOAT: named("SUM"),
        }
    ),
    "sum": by_option(
        {
            INT: plain("TRY_CAST({0} AS BIGINT)"),
            "duration": plain("TRY_CAST({0} AS BIGINT)"),
            FLOAT: plain("{0}"),
        }
    ),
    "quantile": plain("PERCENTILE({0}, {o0})"),
    "first_by": named("MIN_BY"),
    "last_by": named("MAX_BY"),
    "collect": plain("COLLECT_LIST(STRUCT({1} AS place, {0} AS value))"),
    "collected": plain("TRANSFORM(ARRAY_SORT({0}), each -> each.value)"),
    "collect_distinct": named("COLLECT_SET"),
    "sorted_list": named("ARRAY_SORT"),
    "collect_keyed": plain("COLLECT_SET(STRUCT({0} AS kind, {1} AS size, {2} AS letters, {3} AS json))"),
    "sorted_texts": plain("TRANSFORM(ARRAY_SORT({0}), each -> each.json)"),
}


def _wide_sum(value: str) -> str:
    distinct, plain_value = ("DISTINCT ", value[9:]) if value.startswith("DISTINCT ") else ("", value)
    return f"SUM({distinct}CAST({plain_value} AS DECIMAL(38, 0)))"


__all__ = ["FORMS", "quoted", "type_text"]
