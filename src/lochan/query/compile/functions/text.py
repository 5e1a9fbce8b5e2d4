"""Functions of texts, including addresses and JSON. Case folding applies to ASCII letters only, and positions count
characters from 0."""

from __future__ import annotations

import ipaddress

from sqlglot import exp

from lochan.pools.kinds import ARRAY, INT, JSON, NULL, OBJECT, STRING
from lochan.query import ast
from lochan.query.compile.calls import Function, FunctionCall, by_kind
from lochan.query.compile.comparison import in_network
from lochan.query.compile.expressions import value_of
from lochan.query.compile.fields import json_by_kind
from lochan.query.compile.logic import all_of, any_of, case, is_set, surely
from lochan.query.compile.patterns import contains_term, groups_of, pattern_of
from lochan.query.compile.sql import TRUE, Sql, cast, number
from lochan.query.compile.texts import json_text
from lochan.query.compile.value import MISSING, Value, absent, boolean, is_explicit_null, present
from lochan.query.dialects.neutral import neutral


def _of_string(name: str) -> Function:
    return lambda call: by_kind(call, call[0], {STRING: (STRING, lambda sql: neutral(name, sql))})


def length(call: FunctionCall) -> Value:
    value = call[0]
    return by_kind(
        call,
        value,
        {
            STRING: (INT, lambda sql: neutral("text_length", sql)),
            ARRAY: (INT, lambda sql: neutral("list_length", sql)),
            JSON: (INT, lambda sql: neutral("json_length", sql)),
            OBJECT: (INT, lambda sql: case((is_set(sql), _fields(value)))),
        },
    )


def split(call: FunctionCall) -> Value:
    made = _strings(call, "split", ARRAY)
    return Value(made.alts, made.nothing, STRING)


def join(call: FunctionCall) -> Value:
    separator = call.text(1, "a separator")
    value = call[0]
    if ARRAY in value.alts and value.element not in (STRING, None):
        call.refuse("`join` takes an array of strings", 'such as join(split(s, ","), ";")', at=0)
    return by_kind(
        call,
        value,
        {
            ARRAY: (STRING, lambda sql: neutral("list_join", sql, options=(separator,))),
            JSON: (STRING, lambda sql: neutral("list_join", neutral("json_strings", sql), options=(separator,))),
        },
    )


def replace_text(call: FunctionCall) -> Value:
    return _strings(call, "replace", STRING)


def match_pattern(call: FunctionCall) -> Value:
    pattern = call.arguments[0]
    if not isinstance(pattern, ast.Regexp):
        call.refuse("`regexp` takes a pattern", "such as regexp(/a(b)/, s)", at=0)
    regexp = pattern_of(pattern, call.scope, pattern)
    value = value_of(call.arguments[1], call.scope)
    groups = 1 + groups_of(regexp)
    made = by_kind(call, value, {STRING: (ARRAY, lambda sql: neutral("groups", sql, options=(regexp, groups)))})
    nothing = any_of([is_explicit_null(value), all_of([present(value), _no_match(made)])])
    alts = {**made.alts, NULL: exp.Case(ifs=[exp.If(this=nothing, true=exp.true())])}
    return Value(alts, made.nothing, STRING)


def replace_pattern(call: FunctionCall) -> Value:
    pattern = call.arguments[1]
    if not isinstance(pattern, ast.Regexp):
        call.refuse("`regexp_replace` takes a pattern", 'such as regexp_replace(s, /a+/, "b")', at=1)
    regexp = pattern_of(pattern, call.scope, pattern)
    new = value_of(call.arguments[2], call.scope).constant
    if not isinstance(new, str) or "\\" in new or "$" in new:
        call.refuse("`regexp_replace` takes a constant text without \\ and $", at=2)
    value = value_of(call.arguments[0], call.scope)
    return by_kind(call, value, {STRING: (STRING, lambda sql: neutral("replace_matches", sql, options=(regexp, new)))})


def grep(call: FunctionCall) -> Value:
    pattern = call.arguments[0]
    where = call.scope.this if len(call) == 1 else value_of(call.arguments[1], call.scope)
    what: str | ast.Regexp | ast.Glob
    if isinstance(pattern, ast.Regexp | ast.Glob):
        what = pattern
    else:
        constant = value_of(pattern, call.scope).constant
        if not isinstance(constant, str):
            call.refuse("`grep` takes a constant text or pattern", at=0)
        what = constant
    return boolean(surely(contains_term(what, where, call.scope, call.e)))


def part(call: FunctionCall) -> Value:
    start = call[1].only((INT,))
    length = call[2].only((INT,)) if len(call) == 3 else None
    sqls = [start.alts.get(INT)] + ([length.alts.get(INT)] if length is not None else [])
    if any(each is None for each in sqls):
        call.refuse("`substr` takes whole numbers", "such as substr(s, 0, 3)")
    numbers = [each for each in sqls if each is not None]
    return by_kind(call, call[0], {STRING: (STRING, lambda sql: neutral("substr", sql, *numbers))})


def levenshtein(call: FunctionCall) -> Value:
    return _strings(call, "levenshtein", INT)


def _strings(call: FunctionCall, name: str, result: str) -> Value:
    """Calls a function whose arguments are all strings. The result is null where one of them is null."""
    sqls = [each.alts.get(STRING) for each in call.values]
    rest = [sql for sql in sqls[1:] if sql is not None]
    if len(rest) < len(sqls) - 1:
        call.refuse(f"`{call.name}` takes strings")
    made = by_kind(call, call[0], {STRING: (result, lambda sql: neutral(name, sql, *rest))})
    certain = all(not each.nothing for each in call.values[1:])
    return made if certain else Value(made.alts, MISSING)


def _fields(value: Value) -> Sql:
    assert value.record is not None
    total: Sql = number(0)
    for _, each in value.record.items():
        there = present(each)
        one = (
            number(1) if there == exp.true() else exp.Case(ifs=[exp.If(this=there, true=number(1))], default=number(0))
        )
        total = exp.Add(this=total, expression=one)
    return cast(exp.Paren(this=total), INT)


def _no_match(made: Value) -> Sql:
    return all_of([exp.Is(this=each.copy(), expression=exp.Null()) for each in made.alts.values()])


# ── networks ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def cidr_match(call: FunctionCall) -> Value:
    network = call[0].constant
    if not isinstance(network, str) or not _is_network(network):
        call.refuse("`cidr_match` takes a constant network", "such as 10.0.0.0/8", at=0)
    return boolean(surely(in_network(network, call[1])))


def _is_network(value: str) -> bool:
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        return False
    return True


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def parse_json(call: FunctionCall) -> Value:
    """Parses JSON. It is null where the text is not JSON."""
    value = call[0]
    if STRING not in value.alts:
        return by_kind(call, value, {JSON: (JSON, lambda sql: sql)})
    parsed = neutral("json_checked", value.alts[STRING])
    made = json_by_kind(parsed)
    values = [is_set(each) for kind, each in made.alts.items() if kind != NULL]
    null = case((any_of([absent(value), *values]), exp.Null()), other=TRUE)
    return Value({**made.alts, NULL: null}, MISSING if value.nothing == MISSING else "", text=parsed)


def to_json(call: FunctionCall) -> Value:
    value = call[0]
    return Value({STRING: json_text(value)}, MISSING if value.nothing == MISSING else "")


TABLE: dict[str, Function] = {
    "len": length,
    "lower": _of_string("lower"),
    "upper": _of_string("upper"),
    "trim": _of_string("trim"),
    "split": split,
    "join": join,
    "replace": replace_text,
    "regexp": match_pattern,
    "regexp_replace": replace_pattern,
    "grep": grep,
    "substr": part,
    "levenshtein": levenshtein,
    "cidr_match": cidr_match,
    "base64": _of_string("base64"),
    "hex": _of_string("hex"),
    "parse_json": parse_json,
    "to_json": to_json,
}
