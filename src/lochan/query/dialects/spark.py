"""What Spark calls the neutral parts of a plan, in ANSI mode: what would raise is guarded, or has a form `try_…`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lochan.errors import Refused
from lochan.pools.shape import BOOL, FLOAT, INT, JSON, NULL, STRING, TIME, Array, Object, Type, kind_of
from lochan.query.dialects.form import (
    CAPITALS,
    IPV4,
    SMALL,
    Form,
    Forms,
    by_option,
    folded,
    folds_alike,
    ipv6_digits,
    ipv6_text,
    like_pattern,
    named,
    parsed_duration,
    plain,
    rounded,
    written_duration,
)

TYPES = {
    INT: "BIGINT",
    FLOAT: "DOUBLE",
    STRING: "STRING",
    TIME: "TIMESTAMP",
    BOOL: "BOOLEAN",
    JSON: "STRING",
    NULL: "BOOLEAN",
    "duration": "BIGINT",
    "ip": "STRING",
}
# Java's own \b knows letters beyond ASCII, RE2's does not.
_WORD_END = r"(?:(?<=\w)(?!\w)|(?<!\w)(?=\w))"
_WORD_INSIDE = r"(?:(?<=\w)(?=\w)|(?<!\w)(?!\w))"
_LETTERS = {
    "Y": "yyyy",
    "m": "MM",
    "d": "dd",
    "H": "HH",
    "M": "mm",
    "S": "ss",
    "f": "SSSSSS",
    "j": "DDD",
    "y": "yy",
    "b": "MMM",
    "B": "MMMM",
    "a": "EEE",
    "A": "EEEE",
    "p": "a",
    "I": "hh",
}


def quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def pattern(regexp: str) -> str:
    out, at = "", 0
    while at < len(regexp):
        step = 2 if regexp[at] == "\\" else 1
        piece = regexp[at : at + step]
        out += {"\\b": _WORD_END, "\\B": _WORD_INSIDE}.get(piece, piece)
        at += step
    return quoted(out)


def _matches(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"REGEXP_LIKE({arguments[0]}, {pattern(options[0])})"


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


# ── times ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def time_text(sql: str) -> str:
    """RFC 3339 in UTC; a fraction only where there is one."""
    return (
        f"(DATE_FORMAT({sql}, {_java('%Y-%m-%dT%H:%M:%S')}) || CASE WHEN UNIX_MICROS({sql}) % 1000000 = 0 THEN '' ELSE "
        f"TRIM(TRAILING '0' FROM DATE_FORMAT({sql}, '.SSSSSS')) END || 'Z')"
    )


def duration_text(sql: str) -> str:
    return written_duration(
        sql, lambda of, by: f"({of} DIV {by})", "STRING", lambda of: f"TRIM(TRAILING '0' FROM {of})"
    )


def _parse_duration(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return let(arguments[0], lambda text: parsed_duration(text, quoted, lambda pattern: _matches([text], (pattern,))))


def _strftime(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"DATE_FORMAT({arguments[0]}, {_java(options[0])})"


def _strptime(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"TRY_TO_TIMESTAMP({arguments[0]}, {_java(options[0])})"


def _java(format: str) -> str:
    """The letters of strftime as those of Java, what stands between them in quotes."""
    out, plain_text, at = "", "", 0
    while at < len(format):
        letter = format[at + 1] if format[at] == "%" else ""
        if letter and letter != "%":
            out += _java_text(plain_text) + _LETTERS[letter]
            plain_text = ""
        else:
            plain_text += letter or format[at]
        at += 2 if letter else 1
    return quoted(out + _java_text(plain_text))


def _java_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'" if text else ""


# ── arrays, structs, JSON ────────────────────────────────────────────────────────────────────────────────────────────


def _list_get(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    at = options[0]
    return f"TRY_ELEMENT_AT({arguments[0]}, {at + 1 if at >= 0 else at})"


def _list_has(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    at = options[0]
    return f"(SIZE({arguments[0]}) >= {at + 1 if at >= 0 else -at})"


def _slice(start: int | None, stop: int | None, length: str) -> tuple[str, str]:
    """From 1, both ends included; negative ends count from the end."""
    low = "1" if start is None else str(start + 1) if start >= 0 else f"GREATEST({length} - {-start - 1}, 1)"
    high = length if stop is None else str(stop) if stop >= 0 else f"({length} - {-stop})"
    return low, high


def _list_slice(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    low, high = _slice(options[0], options[1], f"SIZE({arguments[0]})")
    return f"SLICE({arguments[0]}, {low}, GREATEST({high} - {low} + 1, 0))"


def _text_slice(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    low, high = _slice(options[0], options[1], f"CHAR_LENGTH({arguments[0]})")
    return f"SUBSTRING({arguments[0]}, {low}, GREATEST({high} - {low} + 1, 0))"


def _struct_get(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"({arguments[0]}).`{options[0].replace('`', '``')}`"


def type_text(type: Type | None) -> str:
    if isinstance(type, Object):
        members = ", ".join("`" + name.replace("`", "``") + "`: " + type_text(each) for name, each in type.fields)
        return f"STRUCT<{members}>"
    if isinstance(type, Array):
        return f"ARRAY<{type_text(type.of)}>"
    return TYPES[kind_of(type)] if type is not None else "STRING"


def _json_path(steps: Sequence[str | int]) -> str:
    return quoted("$" + "".join(map(_step, steps)))


def _step(step: str | int) -> str:
    if isinstance(step, int):
        if step < 0:
            raise Refused("Spark cannot count from the end of an array that is JSON text", hint="run it on duckdb")
        return f"[{step}]"
    if "'" in step or "\\" in step:
        raise Refused(f"Spark cannot look for the name {step!r} in JSON text", hint="run it on duckdb")
    return f"['{step}']"


def _json_get(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """A variant knows a string from a number, but not how the number was written; the text knows that."""
    text, path = arguments[0], _json_path(options)
    variant = f"TO_JSON(TRY_VARIANT_GET(TRY_PARSE_JSON({text}), {path}, 'variant'))"
    chosen = f"CASE WHEN v LIKE '\"%' OR v = 'null' THEN v WHEN v IS NOT NULL THEN GET_JSON_OBJECT({text}, {path}) END"
    return f"TRANSFORM(ARRAY({variant}), v -> {chosen})[0]"


def _json_items(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text = arguments[0]
    variants = f"TRANSFORM(TRY_VARIANT_GET(TRY_PARSE_JSON({text}), '$', 'array<variant>'), v -> TO_JSON(v))"
    texts = f"FROM_JSON({text}, 'array<string>')"
    return (
        f"ZIP_WITH({variants}, {texts}, (v, s) -> CASE WHEN v LIKE '\"%' OR v IS NULL OR s IS NULL THEN v ELSE s END)"
    )


def _json_checked(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text = f"TRIM({arguments[0]})"
    whole = f"GET_JSON_OBJECT(CONCAT('[', {text}, ']'), '$[0]')"
    return (
        f"CASE WHEN TRY_PARSE_JSON({text}) IS NULL THEN NULL WHEN {text} LIKE '\"%' OR {text} = 'null' THEN {text} "
        f"ELSE {whole} END"
    )


def _json_length(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text = arguments[0]
    return (
        f"CAST(CASE SUBSTRING({text}, 1, 1) WHEN '{{' THEN SIZE(JSON_OBJECT_KEYS({text})) "
        f"WHEN '[' THEN JSON_ARRAY_LENGTH({text}) END AS BIGINT)"
    )


def _in_json(value: str) -> str:
    """A scalar, as it stands in an array of one."""
    return f"REGEXP_REPLACE(TO_JSON(ARRAY({value})), '^\\\\[|\\\\]$', '')"


def _scalar_json(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    value, kind = arguments[0], options[0]
    if kind in (TIME, "duration", "ip"):
        text = (
            time_text(value) if kind == TIME else duration_text(value) if kind == "duration" else _ip_text([value], ())
        )
        return "('\"' || " + text + " || '\"')"
    if kind in (BOOL, INT):
        return f"CAST({value} AS STRING)"
    return f"CASE WHEN {value} IS NOT NULL THEN {_in_json(value)} END"


def _array_json(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    element, array = options[0], arguments[0]
    if element is not None and kind_of(element) == TIME:
        array = f"TRANSFORM({array}, x -> {time_text('x')})"
    return f"TO_JSON({array}, MAP('ignoreNullFields', 'false'))"


# ── networks ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def let(value: str, body: Callable[[str], str]) -> str:
    """A value that stands in a text many times is written once, unless it is short."""
    return body(value) if len(value) <= 80 else f"TRANSFORM(ARRAY({value}), it -> {body('it')})[0]"


def _ip_digits(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return let(arguments[0], _digits_of)


def _digits_of(text: str) -> str:
    parts = (f"TRY_CAST(SPLIT_PART({text}, '.', {at}) AS BIGINT)" for at in (1, 2, 3, 4))
    digits = ", ".join(f"LPAD(LOWER(HEX({part})), 2, '0')" for part in parts)
    four = f"CASE WHEN {_matches([text], (IPV4,))} THEN CONCAT('4', {digits}) END"
    return f"COALESCE({four}, {ipv6_digits(text, _groups_of_four, lambda pattern: _matches([text], (pattern,)))})"


def _groups_of_four(text: str) -> str:
    return f"ARRAY_JOIN(TRANSFORM(SPLIT(NULLIF({text}, ''), ':'), g -> LPAD(g, 4, '0')), '')"


def _ip_text(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return let(arguments[0], _address_of)


def _address_of(digits: str) -> str:
    parts = ", ".join(f"CONV(SUBSTRING({digits}, {at}, 2), 16, 10)" for at in (2, 4, 6, 8))
    six = ipv6_text(digits, lambda group: f"REGEXP_REPLACE({group}, '^0{{1,3}}', '')", _let_whole)
    return f"CASE WHEN {digits} LIKE '4%' THEN CONCAT_WS('.', {parts}) ELSE {six} END"


def _let_whole(value: str, body: Callable[[str], str]) -> str:
    return f"TRANSFORM(ARRAY({value}), whole -> {body('whole')})[0]"


FORMS: Forms = {
    # kinds
    "try_cast": lambda arguments, options: f"TRY_CAST({arguments[0]} AS {TYPES[options[0]]})",
    "truncate": plain("({0} - {0} % 1e0)"),
    # numbers
    "add": _int_or_float("TRY_ADD", "+"),
    "subtract": _int_or_float("TRY_SUBTRACT", "-"),
    "multiply": _int_or_float("TRY_MULTIPLY", "*"),
    "safe_divide": plain("(({0}) DIV ({1}))"),
    "safe_remainder": plain("(({0}) % ({1}))"),
    "divide": by_option({INT: _INT_DIVIDE, FLOAT: plain("CASE WHEN {1} <> 0 THEN ({0}) / ({1}) END")}),
    "remainder": by_option({INT: named("TRY_MOD"), FLOAT: plain("CASE WHEN {1} <> 0 THEN ({0}) % ({1}) END")}),
    "negate": by_option(
        {INT: plain("TRY_SUBTRACT(0, {0})"), "duration": plain("TRY_SUBTRACT(0, {0})"), FLOAT: plain("(-({0}))")}
    ),
    "abs": by_option(
        {
            INT: plain("CASE WHEN {0} > CAST('-9223372036854775808' AS BIGINT) THEN ABS({0}) END"),
            "duration": plain("CASE WHEN {0} > CAST('-9223372036854775808' AS BIGINT) THEN ABS({0}) END"),
            FLOAT: named("ABS"),
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
    # times
    "micros": named("UNIX_MICROS"),
    "from_micros": named("TIMESTAMP_MICROS"),
    "time_text": lambda arguments, options: time_text(arguments[0]),
    "duration_text": lambda arguments, options: duration_text(arguments[0]),
    "parse_duration": _parse_duration,
    "strftime": _strftime,
    "strptime": _strptime,
    # text
    "first_character": plain("SUBSTRING({0}, 1, 1)"),
    "matches": _matches,
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
    # arrays and structs
    "list_of": named("ARRAY"),
    "empty_list": lambda arguments, options: f"CAST(ARRAY() AS ARRAY<{TYPES[options[0]]}>)",
    "list_get": _list_get,
    "list_has": _list_has,
    "list_slice": _list_slice,
    "list_join": lambda arguments, options: f"ARRAY_JOIN({arguments[0]}, {quoted(options[0])})",
    "list_length": plain("CAST(SIZE({0}) AS BIGINT)"),
    "list_contains": named("ARRAY_CONTAINS"),
    "struct_get": _struct_get,
    "each": named("EXPLODE"),
    # JSON
    "json_get": _json_get,
    "json_string": plain("GET_JSON_OBJECT(CONCAT('[', {0}, ']'), '$[0]')"),
    "json_items": _json_items,
    "json_strings": plain("FROM_JSON({0}, 'array<string>')"),
    "json_length": _json_length,
    "json_checked": _json_checked,
    "scalar_json": _scalar_json,
    "array_json": _array_json,
    # networks
    "ip_digits": _ip_digits,
    "ip_text": _ip_text,
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
