"""The functions of SQL that can be called, computed by those of the pipe language. All others are refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from lochan.pools.kinds import DURATION, INT, NULL, STRING, TIME
from lochan.query import ast
from lochan.query.compile.functions import call_function as called_in_pipe
from lochan.query.compile.patterns import Unsupported, shared_regexp
from lochan.query.compile.scope import Scope as PipeScope
from lochan.query.compile.sql import FALSE
from lochan.query.compile.value import Value, fixed_object, literal
from lochan.query.dialects.neutral import neutral
from lochan.query.errors import did_you_mean
from lochan.query.functions import FUNCTIONS as FUNCTIONS_OF_PIPES
from lochan.query.sql.aggregates import AGGREGATES, aggregate_call
from lochan.query.sql.expressions import choice, value_of
from lochan.query.sql.scope import SqlScope, of_test, plain
from lochan.query.sql.table_tests import time_of

Handler = Callable[..., Value]


def call_value(node: exp.Expr, scope: SqlScope) -> Value:
    if type(node) in AGGREGATES or isinstance(node, exp.Filter | exp.WithinGroup):
        return aggregate_call(node, scope)
    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        if name in BY_NAME:
            return BY_NAME[name](node, scope)
        raise scope.refused(node, f"unknown function `{name}`{did_you_mean(name, names())}", _HINT)
    handler = FUNCTIONS.get(type(node))
    if handler is not None:
        return handler(node, scope)
    if isinstance(node, exp.Explode):
        raise scope.refused(
            node, "a list cannot be spread to rows in SQL", "use the pipe language: from logs | over tags"
        )
    if isinstance(node, exp.Func):
        name = node.meta.get("name") or node.sql_name().lower()
        raise scope.refused(node, f"function `{name}` cannot be called here{did_you_mean(name, names())}", _HINT)
    raise scope.refused(node, f"`{_node_text(node)}` is not supported here", _HINT)


def names() -> list[str]:
    """Returns the names of all functions, as a user writes them."""
    return sorted({*SHOWN, *BY_NAME, *(name for name, _ in AGGREGATES.values())})


def in_pipe(name: str, values: Sequence[Value], node: exp.Expr, scope: SqlScope) -> Value:
    """Returns the result of the pipe language's function for these values."""
    signature = FUNCTIONS_OF_PIPES[name]
    if len(values) < signature.least or (signature.most is not None and len(values) > signature.most):
        raise scope.refused(node, f"this is called with {len(values)} arguments", f"as in {signature.shown}")
    span = scope.text.span(node)
    arguments = tuple(ast.Name(str(at), span=span) for at in range(len(values)))
    call = ast.Call(name, arguments, span=span)
    row = fixed_object({str(at): value for at, value in enumerate(values)})
    return plain(called_in_pipe(call, PipeScope(scope.query, row)))


# ── most functions: arguments in, value out ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Plain:
    """A function that passes the node's arguments under these keys, in this order, to the pipe language's function."""

    name: str
    keys: tuple[str, ...] = ("this",)

    def __call__(self, node: exp.Expr, scope: SqlScope) -> Value:
        extra = {key for key, value in node.args.items() if value and key not in self.keys}
        if extra:
            raise scope.refused(node, f"`{self.name}` is not supported with `{extra.pop()}`")
        arguments = [node.args[key] for key in self.keys if node.args.get(key) is not None]
        return in_pipe(self.name, [value_of(each, scope) for each in arguments], node, scope)


def _anonymous(name: str) -> Handler:
    return lambda node, scope: in_pipe(name, [value_of(each, scope) for each in node.expressions], node, scope)


# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _substring(node: exp.Substring, scope: SqlScope) -> Value:
    """Compiles SUBSTRING, whose positions count from 1."""
    start = value_of(node.args["start"], scope).constant
    if not isinstance(start, int) or start < 1:
        raise scope.refused(node, "SUBSTRING takes a constant position, counted from 1")
    values = [value_of(node.this, scope), literal(INT, start - 1)]
    if node.args.get("length") is not None:
        values.append(value_of(node.args["length"], scope))
    return in_pipe("substr", values, node, scope)


def _cut(node: exp.Left | exp.Right, scope: SqlScope) -> Value:
    value, count = value_of(node.this, scope), value_of(node.expression, scope).constant
    if not isinstance(count, int) or count < 0:
        raise scope.refused(node, "the number of characters must be a constant")
    if STRING not in value.alts:
        return Value({}, NULL)
    ends = (0, count) if isinstance(node, exp.Left) else (-count, None)
    empty = exp.Literal.string("")
    sliced = neutral("text_slice", value.alts[STRING], options=ends) if count else empty
    return Value({STRING: sliced}, value.nothing or NULL)


def _matches(node: exp.RegexpLike, scope: SqlScope) -> Value:
    value, pattern = value_of(node.this, scope), _pattern(node.expression, scope)
    if node.args.get("flag") is not None:
        raise scope.refused(node, "put flags into the pattern: (?i)")
    return of_test(neutral("matches", value.alts[STRING], options=(pattern,)) if STRING in value.alts else FALSE)


def _regexp_replace(node: exp.RegexpReplace, scope: SqlScope) -> Value:
    modifiers = node.args.get("modifiers")
    if modifiers is None or modifiers.name != "g":
        hint = "engines differ about replacing only the first match; 'g' replaces all"
        raise scope.refused(node, "REGEXP_REPLACE is supported with 'g' only", hint)
    new = value_of(node.args["replacement"], scope).constant
    if not isinstance(new, str) or "\\" in new or "$" in new:
        raise scope.refused(node, "the replacement must be a constant text without \\ and $")
    value, pattern = value_of(node.this, scope), _pattern(node.expression, scope)
    if STRING not in value.alts:
        return Value({}, NULL)
    return Value({STRING: neutral("replace_matches", value.alts[STRING], options=(pattern, new))}, NULL)


def _pattern(node: exp.Expr, scope: SqlScope) -> str:
    pattern = value_of(node, scope).constant
    if not isinstance(pattern, str):
        raise scope.refused(node, "a pattern must be a constant text")
    try:
        return shared_regexp(pattern)
    except Unsupported as error:
        raise scope.refused(node, f"this pattern cannot be used: {error}") from None


def _contains(node: exp.Contains, scope: SqlScope) -> Value:
    value, part = value_of(node.this, scope), value_of(node.expression, scope)
    if STRING not in value.alts or STRING not in part.alts:
        return of_test(FALSE)
    return of_test(neutral("contains", value.alts[STRING], part.alts[STRING]))


def _begins(node: exp.StartsWith | exp.EndsWith, scope: SqlScope) -> Value:
    value, part = value_of(node.this, scope), value_of(node.expression, scope).constant
    if not isinstance(part, str):
        raise scope.refused(node.expression, "this must be a constant text")
    if STRING not in value.alts:
        return of_test(FALSE)
    escaped = "".join(f"\\{each}" if each in "%_\\" else each for each in part)
    pattern = f"{escaped}%" if isinstance(node, exp.StartsWith) else f"%{escaped}"
    return of_test(neutral("like", value.alts[STRING], options=(pattern,)))


def _concat(node: exp.Concat, scope: SqlScope) -> Value:
    """Compiles CONCAT, which skips NULLs, as DuckDB does."""
    from lochan.query.compile.sql import concat as joined
    from lochan.query.sql.expressions import _text

    texts = [_text(value_of(each, scope)).alts.get(STRING) for each in node.expressions]
    parts = [exp.Coalesce(this=each.copy(), expressions=[exp.Literal.string("")]) for each in texts if each is not None]
    return Value({STRING: joined(*parts) if parts else exp.Literal.string("")})


# ── times ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _date_trunc(node: exp.Expr, scope: SqlScope) -> Value:
    unit = node.args["unit"].name.upper()
    value = _time(value_of(node.this, scope))
    if unit in _FIXED:
        return in_pipe("bucket", [value, literal(DURATION, _FIXED[unit])], node, scope)
    formats = {"MONTH": "%Y-%m-01", "YEAR": "%Y-01-01"}
    if unit not in formats:
        raise scope.refused(
            node, f"times cannot be truncated to {unit.lower()}", "second, minute, hour, day, month, year"
        )
    text = in_pipe("strftime", [literal(STRING, formats[unit]), value], node, scope)
    return in_pipe("parse_time", [text, literal(STRING, "%Y-%m-%d")], node, scope)


def _time_bucket(node: exp.Expr, scope: SqlScope) -> Value:
    """Compiles TIME_BUCKET(width, time)."""
    arguments = [value_of(each, scope) for each in _arguments(node)]
    width = next((each for each in arguments if DURATION in each.alts), None)
    rest = [each for each in arguments if each is not width]
    if width is None or len(rest) != 1:
        raise scope.refused(node, "TIME_BUCKET takes an interval and a time")
    return in_pipe("bucket", [_time(rest[0]), width], node, scope)


def _extract(node: exp.Extract, scope: SqlScope) -> Value:
    unit = node.this.name.upper()
    value = _time(value_of(node.expression, scope))
    if unit in ("EPOCH", "EPOCH_US"):
        return _epoch(value, unit)
    if unit not in _PARTS:
        raise scope.refused(node, f"`{unit.lower()}` of a time is not supported", ", ".join(_PARTS).lower() + ", epoch")
    text = in_pipe("strftime", [literal(STRING, _PARTS[unit]), value], node, scope)
    return in_pipe("int64", [text], node, scope)


def _part(unit: str) -> Handler:
    return lambda node, scope: _extract(exp.Extract(this=exp.var(unit), expression=node.this.copy()), scope)


def _epoch(value: Value, unit: str = "EPOCH") -> Value:
    if TIME not in value.alts:
        return Value({}, NULL)
    micros = neutral("micros", value.alts[TIME])
    if unit == "EPOCH_US":
        return Value({INT: micros}, NULL)
    real = exp.Cast(this=micros, to=exp.DataType.build("double"))
    million = exp.Cast(this=exp.Literal.string("1000000.0"), to=exp.DataType.build("double"))
    return Value({"float": exp.Paren(this=exp.Div(this=real, expression=million))}, NULL)


def _strftime(node: exp.TimeToStr, scope: SqlScope) -> Value:
    format = node.args["format"]
    return in_pipe("strftime", [value_of(format, scope), _time(value_of(node.this, scope))], node, scope)


def _read(node: exp.StrToTime, scope: SqlScope) -> Value:
    return in_pipe("parse_time", [value_of(node.this, scope), value_of(node.args["format"], scope)], node, scope)


def _now(node: exp.Expr, scope: SqlScope) -> Value:
    return in_pipe("now", [], node, scope)


def _time(value: Value) -> Value:
    """Returns a text literal that denotes a time as that time; other values stay unchanged."""
    micros = time_of(value.constant) if isinstance(value.constant, str) else None
    return value if micros is None else literal(TIME, micros)


_FIXED = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
_FIXED |= {"MILLISECOND": 1_000, "MICROSECOND": 1}
_PARTS = {"YEAR": "%Y", "MONTH": "%m", "DAY": "%d", "HOUR": "%H", "MINUTE": "%M", "SECOND": "%S", "DOY": "%j"}


# ── casts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _cast(node: exp.Cast | exp.TryCast, scope: SqlScope) -> Value:
    """Compiles a cast. A value that cannot be cast is NULL, never an error."""
    value, to = value_of(node.this, scope), node.to
    name = _cast_name(to)
    if name is None:
        raise scope.refused(
            node, f"there is no cast to {to.sql('duckdb')}", "bigint, double, varchar, boolean, timestamp"
        )
    if name == "time":
        as_time = _time(value)
        made = as_time if as_time is not value else in_pipe(name, [value], node, scope)
        return _day(made, node, scope) if to.is_type("date") else made
    return in_pipe(name, [value], node, scope)


def _day(value: Value, node: exp.Expr, scope: SqlScope) -> Value:
    return in_pipe("bucket", [value, literal(DURATION, _FIXED["DAY"])], node, scope)


def _cast_name(to: exp.DataType) -> str | None:
    if to.is_type(*exp.DataType.INTEGER_TYPES):
        return "int64"
    if to.is_type(*exp.DataType.REAL_TYPES):
        return "float64"
    if to.is_type(*exp.DataType.TEXT_TYPES):
        return "string"
    if to.is_type("boolean"):
        return "bool"
    return "time" if to.is_type(*exp.DataType.TEMPORAL_TYPES) and not to.is_type("time", "timetz") else None


# ── the rest ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _extreme(op: str) -> Handler:
    """Compiles GREATEST and LEAST, which skip NULLs."""

    def handler(node: exp.Expr, scope: SqlScope) -> Value:
        from lochan.query.compile.logic import any_of, negate
        from lochan.query.compile.value import has_value
        from lochan.query.sql.comparison import compare

        found, *rest = (value_of(each, scope) for each in [node.this, *node.expressions])
        for value in rest:
            better = any_of([negate(has_value(value)), compare(op, found, value, sure=True)])
            found = choice([(better, found)], value, node, scope)
        return found

    return handler


def _only(node: exp.Anonymous, scope: SqlScope) -> Value:
    if len(node.expressions) != 1:
        raise scope.refused(node, f"`{node.name}` takes one argument")
    return value_of(node.expressions[0], scope)


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    return [each for value in node.args.values() for each in (value if isinstance(value, list) else [value]) if each]


def _node_text(node: exp.Expr) -> str:
    text = node.sql(dialect="duckdb")
    return text if len(text) <= 40 else text[:40] + "…"


FUNCTIONS: dict[type[exp.Expr], Handler] = {
    exp.Lower: Plain("lower"),
    exp.Upper: Plain("upper"),
    exp.Trim: Plain("trim"),
    exp.Length: Plain("len"),
    exp.ArraySize: Plain("len"),
    exp.Substring: _substring,
    exp.Left: _cut,
    exp.Right: _cut,
    exp.Replace: Plain("replace", ("this", "expression", "replacement")),
    exp.Split: Plain("split", ("this", "expression")),
    exp.Levenshtein: Plain("levenshtein", ("this", "expression")),
    exp.RegexpLike: _matches,
    exp.RegexpReplace: _regexp_replace,
    exp.Contains: _contains,
    exp.StartsWith: _begins,
    exp.EndsWith: _begins,
    exp.Concat: _concat,
    exp.Abs: Plain("abs"),
    exp.Ceil: Plain("ceil"),
    exp.Floor: Plain("floor"),
    exp.Round: Plain("round", ("this", "decimals")),
    exp.Pow: Plain("pow", ("this", "expression")),
    exp.Sqrt: Plain("sqrt"),
    exp.Ln: Plain("log"),
    exp.Typeof: Plain("typeof"),
    exp.Hex: Plain("hex"),
    exp.ToBase64: Plain("base64"),
    exp.CurrentTimestamp: _now,
    exp.TimestampTrunc: _date_trunc,
    exp.DateTrunc: _date_trunc,
    exp.DateBin: _time_bucket,
    exp.Extract: _extract,
    exp.Year: _part("YEAR"),
    exp.Month: _part("MONTH"),
    exp.Day: _part("DAY"),
    exp.Hour: _part("HOUR"),
    exp.Minute: _part("MINUTE"),
    exp.Second: _part("SECOND"),
    exp.DayOfYear: _part("DOY"),
    exp.TimeToUnix: lambda node, scope: _epoch(_time(value_of(node.this, scope))),
    exp.TimeToStr: _strftime,
    exp.StrToTime: _read,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Greatest: _extreme(">="),
    exp.Least: _extreme("<="),
}
BY_NAME: dict[str, Handler] = {
    "now": _now,
    "kind": _anonymous("kind"),
    "cidr_match": _anonymous("cidr_match"),
    "ip": _anonymous("ip"),
    "parse_json": _anonymous("parse_json"),
    "to_json": _anonymous("to_json"),
    "time_bucket": _time_bucket,
    "epoch_us": lambda node, scope: _epoch(_time(_only(node, scope)), "EPOCH_US"),
}
SHOWN = (
    *("lower", "upper", "trim", "length", "len", "substring", "substr", "left", "right", "replace", "string_split"),
    *("levenshtein", "regexp_matches", "regexp_replace", "contains", "starts_with", "ends_with", "concat", "abs"),
    *(
        "ceil",
        "floor",
        "round",
        "pow",
        "sqrt",
        "ln",
        "to_base64",
        "hex",
        "typeof",
        "date_trunc",
        "extract",
        "year",
        "month",
        "day",
    ),
    *("hour", "minute", "second", "epoch", "strftime", "strptime", "cast", "try_cast", "greatest", "least"),
    *("coalesce", "nullif", "if"),
)
_HINT = "the page on SQL lists what is supported"
