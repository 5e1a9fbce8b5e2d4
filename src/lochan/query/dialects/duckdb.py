"""What DuckDB calls the neutral parts of a plan. `TRY` makes NULL of what would raise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lochan.pools.shape import BOOL, FLOAT, INT, JSON, NULL, STRING, TIME, Array, Object, Type, kind_of
from lochan.query.dialects import decimals, json_order
from lochan.query.dialects.addresses import IPV4, ipv6_digits, ipv6_text
from lochan.query.dialects.durations import parsed_duration, written_duration
from lochan.query.dialects.form import (
    CAPITALS,
    RFC3339,
    SMALL,
    Forms,
    by_option,
    folded,
    folds_alike,
    gone_test,
    in_years,
    like_pattern,
    merged_parts,
    named,
    plain,
    rounded,
    slice_ends,
    within_years,
)

TYPES = {
    INT: "BIGINT",
    FLOAT: "DOUBLE",
    STRING: "VARCHAR",
    TIME: "TIMESTAMPTZ",
    BOOL: "BOOLEAN",
    JSON: "VARCHAR",
    NULL: "BOOLEAN",
    "decimal": "VARCHAR",
    "duration": "BIGINT",
    "ip": "VARCHAR",
}


def quoted(value: str) -> str:
    if "\0" in value:
        return "(" + " || CHR(0) || ".join("'" + part.replace("'", "''") + "'" for part in value.split("\0")) + ")"
    return "'" + value.replace("'", "''") + "'"


def json_path(steps: Sequence[str | int]) -> str:
    """DuckDB's paths have no way to an empty name, and take `*` for all of them: then a JSON pointer leads there."""
    if {"", "*"} & set(steps):
        return "".join(map(_pointer, steps))
    return "$" + "".join(map(_step, steps))


def _pointer(step: str | int) -> str:
    return "/" + str(step).replace("~", "~0").replace("/", "~1")


def _step(step: str | int) -> str:
    """Into an array from the end by `#-1`."""
    if isinstance(step, int):
        return f"[#-{-step}]" if step < 0 else f"[{step}]"
    return '."' + step.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _json_get(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"CAST(JSON_EXTRACT({arguments[0]}, {quoted(json_path(options))}) AS VARCHAR)"


def _matches(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"REGEXP_MATCHES({_opaque(arguments[0])}, {quoted(options[0])})"


def _opaque(text: str) -> str:
    """DuckDB 2.0 keeps too many rows for `CASE WHEN a THEN 'x' END LIKE 'x%'` in a WHERE: it tests a IS NOT NULL. The
    same holds for CONTAINS, REGEXP_MATCHES and IN; what is in a TRY it leaves alone. A TRY takes nothing that may end
    the query; an element of a list is left alone as well."""
    if not text.startswith("CASE"):
        return text
    return f"[{text}][1]" if "ERROR(" in text else f"TRY({text})"


def _contains_folded(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text, word = _opaque(arguments[0]), folded(options[0])
    escape = " ESCAPE '\\'" if set(word) & set("%_\\") else ""
    test = f"{text} ILIKE {quoted(like_pattern(word))}{escape}"
    if folds_alike(word):
        return f"({test})"
    return f"({test} AND CONTAINS(TRANSLATE({text}, '{CAPITALS}', '{SMALL}'), {quoted(word)}))"


def _like(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    escape = " ESCAPE '\\'" if "\\" in options[0] else ""
    return f"({_opaque(arguments[0])} LIKE {quoted(options[0])}{escape})"


def _list_get(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    at = options[0]
    return f"LIST_EXTRACT({arguments[0]}, {at + 1 if at >= 0 else at})"


def _list_has(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    at = options[0]
    return f"(LEN({arguments[0]}) >= {at + 1 if at >= 0 else -at})"


def _list_slice(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return let(arguments[0], lambda many: _slice_of(many, *options))


def _slice_of(many: str, start: int | None, stop: int | None) -> str:
    low, high = slice_ends(start, stop, f"LEN({many})")
    return f"CASE WHEN {high} >= {low} THEN LIST_SLICE({many}, {low}, {high}) ELSE LIST_SLICE({many}, 1, 0) END"


def _tagged(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """Elements as structs, with NULL in the place of those that other lists have."""
    many, *nulls = arguments
    at, place = options
    nulls[place] = "x"
    return f"LIST_TRANSFORM({many}, LAMBDA x: {_tag(at, nulls)})"


def _tagged_one(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    test, *nulls = arguments
    return f"CASE WHEN {test} THEN [{_tag(options[0], nulls)}] END"


def _tag(at: int, fields: Sequence[str]) -> str:
    return _members({"at": str(at), **{f"e{place}": field for place, field in enumerate(fields)}})


def _joined_lists(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"FLATTEN(LIST_FILTER([{', '.join(arguments)}], LAMBDA l: l IS NOT NULL))"


def _text_slice(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    low, high = slice_ends(options[0], options[1], f"LENGTH({arguments[0]})")
    return f"SUBSTRING({arguments[0]}, {low}, GREATEST({high} - {low} + 1, 0))"


def _substr(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text, start, *length = arguments
    if not length:
        return f"CASE WHEN {start} >= 0 THEN SUBSTRING({text}, {start} + 1) END"
    return f"CASE WHEN {start} >= 0 AND {length[0]} >= 0 THEN SUBSTRING({text}, {start} + 1, {length[0]}) END"


def _join_texts(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"CONCAT_WS({quoted(options[0])}, {', '.join(arguments)})"


def _list_join(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"ARRAY_TO_STRING({arguments[0]}, {quoted(options[0])})"


def _levenshtein(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """DuckDB 2.0 counts bytes. Where a character may have several, each that both texts have gets a byte of its own;
    all that only one of them has are alike, for they equal nothing in the other."""
    one, other = arguments
    common = f"LIST_INTERSECT({_characters('pair.one')}, {_characters('pair.other')})"
    message = f"`levenshtein` of texts with more than {_BYTES_MAX} different characters in common; run it on spark"
    edits = f"LEVENSHTEIN({_in_bytes('pair.one', _BYTES_MAX + 1)}, {_in_bytes('pair.other', _BYTES_MAX + 2)})"
    counted = f"CASE WHEN LEN(common) > {_BYTES_MAX} THEN CAST(ERROR({quoted(message)}) AS BIGINT) ELSE {edits} END"
    inner = f"LIST_TRANSFORM([{common}], LAMBDA common: {counted})[1]"
    characters = f"LIST_TRANSFORM([{{'one': {one}, 'other': {other}}}], LAMBDA pair: {inner})[1]"
    ascii = " AND ".join(f"STRLEN({text}) = LENGTH({text})" for text in arguments)
    return f"CAST(CASE WHEN {ascii} THEN LEVENSHTEIN({one}, {other}) ELSE {characters} END AS BIGINT)"


_BYTES_MAX = 125  # characters of one byte, but for 0 and two that stand for all others


def _characters(text: str) -> str:
    return f"LIST_TRANSFORM(RANGE(1, LENGTH({text}) + 1), LAMBDA n: SUBSTRING({text}, n, 1))"


def _in_bytes(text: str, other: int) -> str:
    code = f"CHR(CAST(COALESCE(LIST_POSITION(common, letter), {other}) AS INTEGER))"
    return f"ARRAY_TO_STRING(LIST_TRANSFORM({_characters(text)}, LAMBDA letter: {code}), '')"


def _groups(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    pattern, count = options
    parts = ", ".join(f"REGEXP_EXTRACT({arguments[0]}, {quoted(pattern)}, {at})" for at in range(count))
    return f"CASE WHEN REGEXP_MATCHES({arguments[0]}, {quoted(pattern)}) THEN [{parts}] END"


def _replace_matches(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"REGEXP_REPLACE({arguments[0]}, {quoted(options[0])}, {quoted(options[1])}, 'g')"


def type_text(type: Type | None) -> str:
    if isinstance(type, Object):
        members = ", ".join('"' + name.replace('"', '""') + '" ' + type_text(each) for name, each in type.fields)
        return f"STRUCT({members})"
    if isinstance(type, Array):
        return f"{type_text(type.of)}[]"
    return TYPES[kind_of(type)] if type is not None else "VARCHAR"


def time_text(sql: str) -> str:
    """RFC 3339 in UTC; a fraction only where there is one."""
    return (
        f"(STRFTIME({sql}, '%Y-%m-%dT%H:%M:%S') || CASE WHEN EPOCH_US({sql}) % 1000000 = 0 THEN '' ELSE "
        f"RTRIM(STRFTIME({sql}, '.%f'), '0') END || 'Z')"
    )


def _array_json(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    element = options[0]
    if element is not None and kind_of(element) == TIME:
        inner = f"LIST_TRANSFORM({arguments[0]}, LAMBDA x: {time_text('x')})"
        return f"CAST(TO_JSON({inner}) AS VARCHAR)"
    return f"CAST(TO_JSON({arguments[0]}) AS VARCHAR)"


def duration_text(sql: str) -> str:
    return written_duration(sql, lambda of, by: f"({of} // {by})", "VARCHAR", lambda of: f"RTRIM({of}, '0')")


def _parse_duration(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return let(arguments[0], lambda text: parsed_duration(text, quoted, lambda pattern: _matches([text], (pattern,))))


def let(value: str, body: Callable[[str], str]) -> str:
    """A value that stands in a text many times is written once, unless it is short."""
    return body(value) if len(value) <= 80 else f"LIST_TRANSFORM([{value}], LAMBDA it: {body('it')})[1]"


def _ip_digits(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return let(arguments[0], _digits_of)


def _digits_of(text: str) -> str:
    parts = ", ".join(f"TRY_CAST(SPLIT_PART({text}, '.', {at}) AS INTEGER)" for at in (1, 2, 3, 4))
    four = f"CASE WHEN {_matches([text], (IPV4,))} THEN PRINTF('4%02x%02x%02x%02x', {parts}) END"
    return f"COALESCE({four}, {ipv6_digits(text, _groups_of_four, lambda pattern: _matches([text], (pattern,)))})"


def _groups_of_four(text: str) -> str:
    padded = f"LIST_TRANSFORM(STR_SPLIT(NULLIF({text}, ''), ':'), LAMBDA g: LPAD(g, 4, '0'))"
    return f"ARRAY_TO_STRING({padded}, '')"


def _ip_text(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return let(arguments[0], _address_of)


def _address_of(digits: str) -> str:
    parts = ", ".join(f"TRY_CAST('0x' || SUBSTRING({digits}, {at}, 2) AS INTEGER)" for at in (2, 4, 6, 8))
    six = ipv6_text(digits, lambda group: f"REGEXP_REPLACE({group}, '^0{{1,3}}', '')", _let_whole)
    return f"CASE WHEN {digits} LIKE '4%' THEN PRINTF('%d.%d.%d.%d', {parts}) ELSE {six} END"


def _let_whole(value: str, body: Callable[[str], str]) -> str:
    return f"LIST_TRANSFORM([{value}], LAMBDA whole: {body('whole')})[1]"


def _try_cast(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"TRY_CAST({arguments[0]} AS {TYPES[options[0]]})"


def _number(symbol: str) -> dict[Any, Any]:
    return {INT: plain(f"TRY(({{0}}) {symbol} ({{1}}))"), FLOAT: plain(f"(({{0}}) {symbol} ({{1}}))")}


def _bucket(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    value, (step, safe) = arguments[0], options
    floored = f"({value} - (({value} % {step}) + {step}) % {step})"
    return floored if safe else f"TRY{floored}"


def _float_bucket(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"(FLOOR({arguments[0]} / {options[0]}) * {options[0]} + 0e0)"


def _strftime(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"STRFTIME({arguments[0]}, {quoted(options[0])})"


def _strptime(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"CAST(TRY_STRPTIME({arguments[0]}, {quoted(options[0])}) AS TIMESTAMPTZ)"


def _rfc3339(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """Six digits of the fraction; the rest is cut off, not rounded."""
    text = arguments[0]
    cut = f"REGEXP_REPLACE(UPPER({text}), '([.][0-9]{{6}})[0-9]+', '\\1')"
    time = in_years(f"TRY_CAST({cut} AS TIMESTAMPTZ)", text, "EPOCH_US")
    return f"CASE WHEN {_matches([text], (RFC3339,))} THEN {time} END"


def _json_length(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text = arguments[0]
    arms = f"WHEN 'OBJECT' THEN LEN(JSON_KEYS({text})) WHEN 'ARRAY' THEN JSON_ARRAY_LENGTH({text})"
    return f"CAST(CASE JSON_TYPE({text}) {arms} END AS BIGINT)"


def _json_merged(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """A JSON pointer leads to any name, the empty one too."""
    texts, gone = merged_parts(arguments, options)
    pointer = "'/' || REPLACE(REPLACE(k, '~', '~0'), '/', '~1')"
    field = f"{{'k': k, 'v': CAST(JSON_EXTRACT(o, {pointer}) AS VARCHAR)}}"
    objects = f"LIST_FILTER([{', '.join(texts)}], LAMBDA o: o IS NOT NULL)"
    fields = f"FLATTEN(LIST_TRANSFORM({objects}, LAMBDA o: LIST_TRANSFORM(JSON_KEYS(o), LAMBDA k: {field})))"
    if gone:
        fields = f"LIST_FILTER({fields}, LAMBDA x: {gone_test(gone, quoted)})"
    elif options:
        fields = _renamed_field(fields, *options[1:])
    names = "LIST_TRANSFORM(f, LAMBDA x: x.k)"
    firsts = f"LIST_FILTER({names}, LAMBDA n, i: LIST_POSITION({names}, n) = i)"
    last = "LIST_FILTER(f, LAMBDA y: y.k = n)[-1].v"
    inside = f"ARRAY_TO_STRING(LIST_TRANSFORM({firsts}, LAMBDA n: CAST(TO_JSON(n) AS VARCHAR) || ':' || {last}), ',')"
    return f"LIST_TRANSFORM([{fields}], LAMBDA f: '{{' || {inside} || '}}')[1]"


def _renamed_field(fields: str, name: str, new: str) -> str:
    """A field that had the new name gives way."""
    others = f"LIST_FILTER(e, LAMBDA x: x.k = {quoted(name)} OR x.k <> {quoted(new)})"
    renamed = f"CASE WHEN x.k = {quoted(name)} THEN {quoted(new)} ELSE x.k END"
    changed = f"LIST_TRANSFORM({others}, LAMBDA x: {{'k': {renamed}, 'v': x.v}})"
    has = f"LEN(LIST_FILTER(e, LAMBDA x: x.k = {quoted(name)})) > 0"
    return f"LIST_TRANSFORM([{fields}], LAMBDA e: CASE WHEN {has} THEN {changed} ELSE e END)[1]"


_JSON_ITEMS = plain("CAST(JSON_EXTRACT({0}, '$[*]') AS VARCHAR[])")
_JSON_STRING = plain("JSON_EXTRACT_STRING({0}, '$')")
_FROM_MICROS = plain("CAST(TRY(MAKE_TIMESTAMP({0})) AS TIMESTAMPTZ)")


def _members(fields: dict[str, str]) -> str:
    return "{" + ", ".join(f"'{name}': {value}" for name, value in fields.items()) + "}"


_WORDS = decimals.Words(
    let=lambda name, value, body: f"LIST_TRANSFORM([{value}], LAMBDA {name}: {body})[1]",
    members=_members,
    text="VARCHAR",
    left_trim=lambda of, letters: f"LTRIM({of}, '{letters}')",
    right_trim=lambda of, letters: f"RTRIM({of}, '{letters}')",
    quoted=quoted,
    fail=lambda message: f"ERROR({message})",
    float_text=lambda value: f"CAST(TO_JSON({value}) AS VARCHAR)",
    shortest=lambda value: f"CAST({value} AS VARCHAR)",
    matches=lambda of, pattern: _matches([of], (pattern,)),
    json_get=_json_get,
    json_items=_JSON_ITEMS,
    json_merged=_json_merged,
    json_checked=plain("CASE WHEN JSON_VALID({0}) THEN CAST(JSON({0}) AS VARCHAR) END"),
    each=lambda many, name, body: f"LIST_TRANSFORM({many}, LAMBDA {name}: {body})",
    found=lambda of, pattern: f"REGEXP_EXTRACT_ALL({of}, {pattern})",
    joined=lambda many: f"ARRAY_TO_STRING({many}, '')",
    first_group=lambda of, pattern: f"REGEXP_REPLACE({of}, {pattern}, '\\1', 'g')",
)

_DECIMALS = decimals.forms(_WORDS)
_ORDER_WORDS = json_order.Words(
    quoted=quoted,
    found=_WORDS.found,
    each=_WORDS.each,
    joined=_WORDS.joined,
    json_string=_JSON_STRING,
    number_key=_DECIMALS["number_key"],
)

FORMS: Forms = {
    **_DECIMALS,
    "json_order": json_order.form(_ORDER_WORDS),
    # kinds
    "try_cast": _try_cast,
    "truncate": plain("TRUNC({0})"),
    # DuckDB 2.0 puts a cast of `b.c` into the reading of the files; where one has `b` but nothing at `c` it then fails
    # with an internal error. It leaves alone what is in a TRY.
    "rounded": plain("TRY(CAST({0} AS DOUBLE))"),
    # numbers
    "add": by_option(_number("+")),
    "subtract": by_option(_number("-")),
    "multiply": by_option(_number("*")),
    "safe_divide": plain("(({0}) // ({1}))"),
    "safe_remainder": plain("(({0}) % ({1}))"),
    "divide": by_option({INT: plain("TRY(({0}) // ({1}))"), FLOAT: plain("CASE WHEN {1} <> 0 THEN ({0}) / ({1}) END")}),
    "remainder": by_option(
        {INT: plain("TRY(({0}) % ({1}))"), FLOAT: plain("CASE WHEN {1} <> 0 THEN ({0}) % ({1}) END")}
    ),
    "decimal_remainder": plain("TRY(({0}) % ({1}))"),
    "negate": by_option(
        {
            **dict.fromkeys((INT, FLOAT, "duration"), plain("TRY(-({0}))")),
            "decimal": plain("CASE WHEN SUBSTRING({0}, 1, 1) = '-' THEN SUBSTRING({0}, 2) ELSE '-' || {0} END"),
        }
    ),
    "abs": by_option(
        {**dict.fromkeys((INT, FLOAT, "duration"), plain("TRY(ABS({0}))")), "decimal": plain("LTRIM({0}, '-')")}
    ),
    "ceil": plain("(CEIL({0}) + 0e0)"),  # never -0.0
    "floor": plain("(FLOOR({0}) + 0e0)"),
    "round": rounded,
    "pow": plain("POW({0}, {1})"),
    "sqrt": plain("CASE WHEN {0} >= 0 THEN SQRT({0}) END"),
    "log": plain("CASE WHEN {0} > 0 THEN LN({0}) END"),
    "int_bucket": _bucket,
    "float_bucket": _float_bucket,
    # times
    "micros": plain("EPOCH_US({0})"),
    "from_micros": _FROM_MICROS,
    "within_years": lambda arguments, options: let(arguments[0], within_years),
    "in_years": lambda arguments, options: in_years(arguments[0], arguments[1], "EPOCH_US"),
    "rfc3339": _rfc3339,
    "finer_digits": plain("RTRIM(REGEXP_EXTRACT({0}, '[.][0-9]{{6}}([0-9]+)', 1), '0')"),
    "time_text": lambda arguments, options: time_text(arguments[0]),
    "duration_text": lambda arguments, options: duration_text(arguments[0]),
    "parse_duration": _parse_duration,
    "strftime": _strftime,
    "strptime": _strptime,
    # text
    "first_character": plain("SUBSTRING({0}, 1, 1)"),
    "matches": _matches,
    "contains_folded": _contains_folded,
    "contains": lambda arguments, options: f"CONTAINS({_opaque(arguments[0])}, {arguments[1]})",
    "like": _like,
    "lower": plain(f"TRANSLATE({{0}}, '{CAPITALS}', '{SMALL}')"),
    "upper": plain(f"TRANSLATE({{0}}, '{SMALL}', '{CAPITALS}')"),
    "trim": plain("TRIM({0}, ' ')"),
    "split": plain("STR_SPLIT({0}, {1})"),
    "replace": named("REPLACE"),
    "levenshtein": _levenshtein,
    "text_length": plain("CAST(LENGTH({0}) AS BIGINT)"),
    "substr": _substr,
    "text_slice": _text_slice,
    "join_texts": _join_texts,
    "groups": _groups,
    "replace_matches": _replace_matches,
    "base64": plain("TO_BASE64(ENCODE({0}))"),
    "hex": plain("LOWER(HEX(ENCODE({0})))"),
    # arrays and structs
    "list_of": lambda arguments, options: f"[{', '.join(arguments)}]",
    "empty_list": lambda arguments, options: f"CAST([] AS {TYPES[options[0]]}[])",
    "list_get": _list_get,
    "list_has": _list_has,
    "list_slice": _list_slice,
    "list_join": _list_join,
    "list_length": plain("CAST(LEN({0}) AS BIGINT)"),
    "list_contains": plain("LIST_CONTAINS({0}, {1})"),
    "list_some": plain("(LEN(LIST_FILTER({0}, LAMBDA element: {1})) > 0)"),
    "struct_get": lambda arguments, options: f"STRUCT_EXTRACT({arguments[0]}, {quoted(options[0])})",
    "each": named("UNNEST"),
    "tagged": _tagged,
    "tagged_one": _tagged_one,
    "joined_lists": _joined_lists,
    # JSON
    "json_get": _json_get,
    "json_string": _JSON_STRING,
    "json_items": _JSON_ITEMS,
    "json_strings": plain(
        "LIST_TRANSFORM(CAST(JSON_EXTRACT({0}, '$[*]') AS VARCHAR[]), LAMBDA x: JSON_EXTRACT_STRING(x, '$'))"
    ),
    "json_length": _json_length,
    "scalar_json": by_option(
        {
            BOOL: plain("CAST({0} AS VARCHAR)"),
            INT: plain("CAST({0} AS VARCHAR)"),
            FLOAT: plain("CAST(TO_JSON({0}) AS VARCHAR)"),
            "decimal": plain("{0}"),
            STRING: plain("CAST(TO_JSON({0}) AS VARCHAR)"),
            TIME: lambda arguments, options: "('\"' || " + time_text(arguments[0]) + " || '\"')",
            "duration": lambda arguments, options: "('\"' || " + duration_text(arguments[0]) + " || '\"')",
            "ip": lambda arguments, options: "('\"' || " + _ip_text(arguments, options) + " || '\"')",
        }
    ),
    "array_json": _array_json,
    # networks
    "ip_digits": _ip_digits,
    "ip_text": _ip_text,
    # rows
    "row_number": plain("ROW_NUMBER() OVER ()"),
    # aggregates
    "sum_of": named("SUM"),
    "sum": by_option(
        {INT: plain("TRY_CAST({0} AS BIGINT)"), "duration": plain("TRY_CAST({0} AS BIGINT)"), FLOAT: plain("{0}")}
    ),
    "quantile": plain("QUANTILE_CONT({0}, {o0})"),
    "first_by": named("ARG_MIN_NULL"),
    "last_by": named("ARG_MAX_NULL"),
    "collect": plain("LIST({0} ORDER BY {1})"),
    "collected": plain("{0}"),
    "value of a query that depends on the row": plain("{0}"),
    "collect_distinct": plain("LIST(DISTINCT {0})"),
    "sorted_list": named("LIST_SORT"),
    "collect_keyed": plain("LIST(DISTINCT {{'kind': {0}, 'size': {1}, 'letters': {2}, 'json': {3}}})"),
    "sorted_texts": plain("LIST_TRANSFORM(LIST_SORT({0}), LAMBDA each: each.json)"),
}
