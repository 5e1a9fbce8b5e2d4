"""The forms of the neutral parts of a plan in Spark, in ANSI mode: operations that would raise an error are guarded, or
have a form `try_…`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orjson import dumps

from lochan.pools.kinds import FLOAT, INT, TIME
from lochan.pools.shape import Array, Object, Type, kind_of
from lochan.query.dialects import spark_texts as spark_json
from lochan.query.dialects import spark_texts as spark_scalars
from lochan.query.dialects.neutral import (
    CAPITALS,
    SMALL,
    Form,
    Forms,
    Words,
    by_option,
    call_form,
    fold_case,
    folds_alike,
    like_pattern,
    plain,
    slice_ends,
)
from lochan.query.dialects.shared_forms import (
    DIVIDE_FLOATS,
    FLOAT_REMAINDER,
    NEGATIVE_DECIMAL,
    scalar_json,
    shared_forms,
)
from lochan.query.dialects.spark_texts import float_text, shortest, time_text
from lochan.query.dialects.spark_words import TYPES, let, matches, pattern, quote_text

# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _contains_folded(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text, word = arguments[0], fold_case(options[0])
    test = f"{text} ILIKE {quote_text(like_pattern(word))}"
    if folds_alike(word):
        return f"({test})"
    return f"({test} AND CONTAINS(TRANSLATE({text}, '{CAPITALS}', '{SMALL}'), {quote_text(word)}))"


def _like(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"({arguments[0]} LIKE {quote_text(options[0])})"


def _split(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text, mark = arguments
    return f"SPLIT({text}, CONCAT('\\\\Q', REPLACE({mark}, '\\\\E', '\\\\E\\\\\\\\E\\\\Q'), '\\\\E'))"


def _substr(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text, start, *length = (f"CAST({each} AS INT)" if at else each for at, each in enumerate(arguments))
    if not length:
        return f"CASE WHEN {start} >= 0 THEN SUBSTRING({text}, {start} + 1) END"
    return f"CASE WHEN {start} >= 0 AND {length[0]} >= 0 THEN SUBSTRING({text}, {start} + 1, {length[0]}) END"


def _replace_matches(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"REGEXP_REPLACE({arguments[0]}, {pattern(options[0])}, {quote_text(options[1])})"


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _int_or_float(of_ints: str, symbol: str) -> Form:
    return by_option({INT: call_form(of_ints), FLOAT: plain(f"(({{0}}) {symbol} ({{1}}))")})


_INT_DIVIDE = plain(
    "CASE WHEN {1} <> 0 AND NOT ({1} = -1 AND {0} = CAST('-9223372036854775808' AS BIGINT)) THEN ({0}) DIV ({1}) END"
)


_TURNED = plain("TRY_SUBTRACT(CAST(0 AS BIGINT), {0})")


def _bucket(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    value, (step, safe) = arguments[0], options
    return f"({value} - PMOD({value}, {step}))" if safe else f"TRY_SUBTRACT({value}, PMOD({value}, {step}))"


def _float_bucket(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    share = f"({arguments[0]} / {options[0]})"
    return f"({_floor(share)} * {options[0]} + 0e0)"


def _floor(value: str) -> str:
    """Rounds down. FLOOR would return an int."""
    whole = f"({value} - {value} % 1e0)"
    return f"(CASE WHEN {value} < {whole} THEN {whole} - 1e0 ELSE {whole} END + 0e0)"


def _ceil(value: str) -> str:
    whole = f"({value} - {value} % 1e0)"
    return f"(CASE WHEN {value} > {whole} THEN {whole} + 1e0 ELSE {whole} END + 0e0)"


# ── lists and structs ────────────────────────────────────────────────────────────────────────────────────────────────


def _list_get(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    at = options[0]
    return f"TRY_ELEMENT_AT({arguments[0]}, {at + 1 if at >= 0 else at})"


def _list_slice(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return WORDS.once(arguments[0], lambda many: _slice_of(many, *options))


def _slice_of(many: str, start: int | None, stop: int | None) -> str:
    low, high = slice_ends(start, stop, f"SIZE({many})")
    return f"SLICE({many}, {low}, GREATEST({high} - {low} + 1, 0))"


def _struct_get(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"({arguments[0]}).`{options[0].replace('`', '``')}`"


def _array_json(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    element, array = options[0], arguments[0]
    return _json_of(array, None if element is None else Array(element), 0)


def _json_of(value: str, type: Type | None, depth: int) -> str:
    """Uses Spark's own function where it writes the same as DuckDB, which is so unless there is a float or a time."""
    if type is None or not _has_own_text(type):
        return f"TO_JSON({value}, MAP('ignoreNullFields', 'false'))"
    if isinstance(type, Array):
        each = f"x{depth}"
        texts = f"TRANSFORM({value}, {each} -> {_inner_json(each, type.of, depth + 1)})"
        return f"CONCAT('[', ARRAY_JOIN({texts}, ','), ']')"
    assert isinstance(type, Object)
    members = [
        f"{quote_text(dumps(name).decode() + ':')}, {_inner_json(_struct_get([value], (name,)), each, depth)}"
        for name, each in type.fields
    ]
    inside = ", ',', ".join(members)
    return f"CONCAT('{{', {inside}, '}}')"


def _inner_json(value: str, type: Type | None, depth: int) -> str:
    if type is None or isinstance(type, Array | Object):
        text = _json_of(value, type, depth)
    else:
        text = scalar_json(WORDS, value, kind_of(type))
    return f"COALESCE({text}, 'null')"


def _has_own_text(type: Type | None) -> bool:
    if isinstance(type, Array):
        return _has_own_text(type.of)
    if isinstance(type, Object):
        return any(_has_own_text(each) for _, each in type.fields)
    return type is not None and kind_of(type) in (FLOAT, TIME)


# ── addresses ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _ipv4_digits(text: str) -> str:
    parts = (f"TRY_CAST(SPLIT_PART({text}, '.', {at}) AS BIGINT)" for at in (1, 2, 3, 4))
    digits = ", ".join(f"LPAD(LOWER(HEX({part})), 2, '0')" for part in parts)
    return f"CONCAT('4', {digits})"


def _ipv4_text(digits: str) -> str:
    parts = ", ".join(f"CONV(SUBSTRING({digits}, {at}, 2), 16, 10)" for at in (2, 4, 6, 8))
    return f"CONCAT_WS('.', {parts})"


# ── aggregates ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _wide_sum(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """Sums ints exactly, with as many digits as the sum needs on the way."""
    value = arguments[0]
    distinct, plain_value = ("DISTINCT ", value[9:]) if value.startswith("DISTINCT ") else ("", value)
    return f"SUM({distinct}CAST({plain_value} AS DECIMAL(38, 0)))"


WORDS = Words(
    types=TYPES,
    text="STRING",
    quoted=quote_text,
    pattern=pattern,
    fail=lambda message: f"RAISE_ERROR({message})",
    let=let,
    members=lambda fields: "NAMED_STRUCT(" + ", ".join(f"'{name}', {value}" for name, value in fields.items()) + ")",
    list_of=lambda items: f"ARRAY({', '.join(items)})",
    size="SIZE",
    each=lambda many, name, body: f"TRANSFORM({many}, {name} -> {body})",
    kept=lambda many, name, test: f"FILTER({many}, {name} -> {test})",
    some=lambda many, name, test: f"EXISTS({many}, {name} -> {test})",
    firsts=lambda many: f"ARRAY_DISTINCT({many})",
    last=lambda many: f"ELEMENT_AT({many}, -1)",
    joined=lambda many, between: f"ARRAY_JOIN({many}, {between})",
    left_trim=lambda text, letters: f"TRIM(LEADING '{letters}' FROM {text})",
    right_trim=lambda text, letters: f"TRIM(TRAILING '{letters}' FROM {text})",
    matches=matches,
    found=lambda text, pattern: f"REGEXP_EXTRACT_ALL({text}, {pattern}, 0)",
    first_group=lambda text, pattern: f"REGEXP_REPLACE({text}, {pattern}, '$1')",
    split=lambda text, mark: f"SPLIT({text}, {mark})",
    divided=lambda number, by: f"({number} DIV {by})",
    float_text=float_text,
    shortest=shortest,
    micros="UNIX_MICROS",
    time_text=time_text,
    ipv4_digits=_ipv4_digits,
    ipv4_text=_ipv4_text,
    json_text=spark_json.json_text,
    json_string=plain("GET_JSON_OBJECT(CONCAT('[', {0}, ']'), '$[0]')"),
    json_get=spark_json.json_get,
    json_items=spark_json.json_items,
    json_fields=spark_json.json_fields,
    json_checked=spark_json.json_checked,
)

FORMS: Forms = {
    **shared_forms(WORDS),
    **spark_scalars.FORMS,
    # kinds
    "truncate": plain("({0} - {0} % 1e0)"),
    "rounded": plain("CAST({0} AS DOUBLE)"),
    # numbers
    "add": _int_or_float("TRY_ADD", "+"),
    "subtract": _int_or_float("TRY_SUBTRACT", "-"),
    "multiply": _int_or_float("TRY_MULTIPLY", "*"),
    "safe_divide": plain("(({0}) DIV ({1}))"),
    "divide": by_option({INT: _INT_DIVIDE, FLOAT: DIVIDE_FLOATS}),
    "remainder": by_option({INT: call_form("TRY_MOD"), FLOAT: FLOAT_REMAINDER}),
    "decimal_remainder": call_form("TRY_MOD"),
    "negate": by_option({INT: _TURNED, "duration": _TURNED, FLOAT: plain("(-({0}))"), "decimal": NEGATIVE_DECIMAL}),
    "abs": by_option(
        {
            INT: plain("CASE WHEN {0} > CAST('-9223372036854775808' AS BIGINT) THEN ABS({0}) END"),
            "duration": plain("CASE WHEN {0} > CAST('-9223372036854775808' AS BIGINT) THEN ABS({0}) END"),
            FLOAT: call_form("ABS"),
            "decimal": plain("TRIM(LEADING '-' FROM {0})"),
        }
    ),
    "ceil": lambda arguments, options: _ceil(arguments[0]),
    "floor": lambda arguments, options: _floor(arguments[0]),
    "pow": call_form("POWER"),
    "int_bucket": _bucket,
    "float_bucket": _float_bucket,
    # text
    "matches": lambda arguments, options: matches(arguments[0], options[0]),
    "contains_folded": _contains_folded,
    "contains": call_form("CONTAINS"),
    "like": _like,
    "trim": plain("TRIM(BOTH ' ' FROM {0})"),
    "split": _split,
    "levenshtein": plain("CAST(LEVENSHTEIN({0}, {1}) AS BIGINT)"),
    "substr": _substr,
    "replace_matches": _replace_matches,
    "base64": plain("REPLACE(BASE64(CAST({0} AS BINARY)), '\\r\\n', '')"),
    "hex": plain("LOWER(HEX(CAST({0} AS BINARY)))"),
    # lists and structs
    "empty_list": lambda arguments, options: f"CAST(ARRAY() AS ARRAY<{TYPES[options[0]]}>)",
    "list_get": _list_get,
    "list_slice": _list_slice,
    "list_contains": call_form("ARRAY_CONTAINS"),
    "struct_get": _struct_get,
    "each": call_form("EXPLODE"),
    # JSON
    "json_strings": plain("FROM_JSON({0}, 'array<string>')"),
    "json_length": spark_json.json_length,
    "array_json": _array_json,
    # rows
    "row_number": plain("ROW_NUMBER() OVER (ORDER BY MONOTONICALLY_INCREASING_ID())"),
    # aggregates
    "sum_of": by_option({INT: _wide_sum, "duration": _wide_sum, FLOAT: call_form("SUM")}),
    "quantile": plain("PERCENTILE({0}, {o0})"),
    "first_by": call_form("MIN_BY"),
    "last_by": call_form("MAX_BY"),
    "collect": plain("COLLECT_LIST(STRUCT({1} AS place, {0} AS value))"),
    "collected": plain("TRANSFORM(ARRAY_SORT({0}), each -> each.value)"),
    "collect_distinct": call_form("COLLECT_SET"),
    "sorted_list": call_form("ARRAY_SORT"),
    "collect_keyed": plain("COLLECT_SET(STRUCT({0} AS kind, {1} AS size, {2} AS letters, {3} AS json))"),
    "sorted_texts": plain("TRANSFORM(ARRAY_SORT({0}), each -> each.json)"),
}
